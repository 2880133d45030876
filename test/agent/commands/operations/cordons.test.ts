import { describe, expect, test } from "vitest";
import { sleep } from "../../../../agent/base/clock.ts";
import { KubeClient } from "../../../../agent/client/kube-client.ts";
import { RequestLimiter } from "../../../../agent/client/request-limiter.ts";
import { Traffic } from "../../../../agent/client/traffic.ts";
import type { HttpRequest, HttpResponse } from "../../../../agent/client/transport/transport.ts";
import type { Author, Effect } from "../../../../agent/commands/desk/controls.ts";
import type { OperationsDeps } from "../../../../agent/commands/operations/deps.ts";
import { AgentSiteControls } from "../../../../agent/commands/operations/site-controls.ts";
import { Executor } from "../../../../agent/execution/executor.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { RecordingLog } from "../../../support/recording-log.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { TestTerm } from "../../../support/small-api.ts";
import { concat, envelope, field } from "../../client/decoding/protobuf-bytes.ts";

const alice: Author = { by: "ops:alice", reason: "new fan" };

/** What the link does to a request: it is late, or the server asks for a pause. */
type Fate = "normal" | { readonly lateBy: number } | { readonly busyFor: number };

/** The leader of two boards, pi-1, its own, and pi-2, and an API server that is reached over a bad link. */
class Site {
  readonly clock = new FakeClock();
  readonly events: string[] = [];
  readonly evicted: string[] = [];
  /** Requests about Nodes, as they reach the server. */
  readonly arrived: string[] = [];
  readonly controls: AgentSiteControls;
  /** What the link does to the next request with this method. */
  readonly fates = new Map<string, Fate>();
  readonly #versions = new Map([
    ["pi-1", 5],
    ["pi-2", 5],
  ]);
  readonly #cordoned = new Set<string>();

  constructor() {
    const ambient = { clock: this.clock, random: new SeededRandom(), log: new RecordingLog() };
    const client = new KubeClient(ambient, {
      transport: (request) => this.#transport(request),
      traffic: new Traffic(),
      limiter: new RequestLimiter(ambient, { qps: 1000, burst: 1000 }),
      timeouts: { read: 30_000, list: 30_000, watch: 30_000, write: 30_000 },
      userAgent: "siteward/1",
    });
    const events = { record: () => {} };
    // Only what orders about cordons use.
    const deps = {
      ...{ ambient, client, config: { board: { node: "pi-1" } }, current: { term: new TestTerm() } },
      executor: new Executor(ambient, { client, events, inflight: 4 }),
      elector: { view: () => ({ role: "leader", holder: "pi-1", term: 3 }) },
      caches: { informer: () => ({ lister: { get: (name: string) => ({ metadata: { name } }) } }) },
      announce: ({ reason }: { reason: string }) => void this.events.push(reason),
      statusChanged: () => {},
    } as unknown as OperationsDeps;
    this.controls = new AgentSiteControls(deps);
  }

  cordon(is: boolean, board?: string, signal = new AbortController().signal): Promise<Effect> {
    return this.controls.cordon(board, is, alice, false, signal);
  }

  drain(signal = new AbortController().signal, timeout = 600_000): Promise<Effect> {
    return this.controls.drain({ timeout, force: true }, alice, () => {}, signal);
  }

  isCordoned(board = "pi-1"): boolean {
    return this.#cordoned.has(board);
  }

  /** A kubelet reports something new. */
  report(board: string): void {
    this.#versions.set(board, (this.#versions.get(board) ?? 0) + 1);
  }

  async #transport(request: HttpRequest): Promise<HttpResponse> {
    request.guard?.();
    const { method, path, body: sent = "" } = request;
    const isOfNode = path.startsWith("/api/v1/nodes/");
    const fate = (isOfNode && this.fates.get(method)) || "normal";
    if (fate === "normal") return this.#answer(method, path, sent);
    this.fates.delete(method);
    if ("busyFor" in fate) return responseOf(429, status(429, "TooManyRequests"), { "retry-after": `${fate.busyFor}` });
    // A late request arrives even if the client no longer waits for its answer.
    const arrival = sleep(this.clock, fate.lateBy, new AbortController().signal).then(() =>
      this.#answer(method, path, sent),
    );
    const given = new Promise<never>((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason), { once: true }),
    );
    return Promise.race([arrival, given]);
  }

  #answer(method: string, path: string, sent: string): HttpResponse {
    if (path.includes("/eviction")) {
      this.evicted.push(path);
      return responseOf(201, { kind: "Status", status: "Success" });
    }
    if (!path.startsWith("/api/v1/nodes/")) return responseOf(200, podList);
    const name = path.replace("/api/v1/nodes/", "");
    this.arrived.push(`${method} ${name}`);
    const version = this.#versions.get(name) ?? 0;
    if (method === "PATCH") {
      const { metadata, spec } = JSON.parse(sent);
      if (metadata.resourceVersion !== String(version)) return responseOf(409, status(409, "Conflict"));
      if (spec.unschedulable) this.#cordoned.add(name);
      else this.#cordoned.delete(name);
      this.report(name);
    }
    const resourceVersion = String(this.#versions.get(name));
    const spec = this.isCordoned(name) ? { unschedulable: true } : {};
    return responseOf(200, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, uid: `u-${name}`, resourceVersion },
      spec,
    });
  }
}

const status = (code: number, reason: string) => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  code,
  reason,
});

/** One pod that a drain evicts. */
const podList = envelope(
  "PodList",
  concat(
    field(1, field(2, "9")),
    field(2, concat(field(1, concat(field(1, "web"), field(3, "shop"), field(5, "u-web"), field(6, "7"))))),
  ),
);

const responseOf = (code: number, body: object, headers: Readonly<Record<string, string>> = {}): HttpResponse => ({
  status: code,
  headers,
  body: (async function* () {
    yield body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
  })(),
});

describe("an uncordon", () => {
  test.each([
    ["before the drain has read the Node", "GET"],
    ["while the drain's own cordon is on its way", "PATCH"],
  ])("that comes %s leaves the board uncordoned, and nothing is evicted", async (_, method) => {
    const site = new Site();
    site.fates.set(method, { lateBy: 5000 });
    const drain = site.drain();
    await site.clock.advance("1s");
    const uncordon = site.cordon(false);
    await site.clock.advance("1m");
    expect(await uncordon).toMatchObject({ outcome: "done" });
    expect(await drain).toMatchObject({ outcome: "failed", code: 409, error: "uncordoned", result: { evicted: 0 } });
    expect(site.isCordoned()).toBe(false);
    expect(site.evicted).toEqual([]);
  });

  test("ends the drain even if the board cannot be uncordoned", async () => {
    const site = new Site();
    const drain = site.drain();
    await site.clock.advance("6s");
    expect(site.controls.draining()).toMatchObject({ evicted: 1 });
    site.fates.set("PATCH", { lateBy: 600_000 });
    const uncordon = site.cordon(false);
    await site.clock.advance("31s");
    expect(await uncordon).toMatchObject({ outcome: "failed", code: 503 });
    expect(await drain).toMatchObject({ error: "uncordoned", message: "board.uncordon ended the drain" });
  });

  test.each<[string, (site: Site) => Promise<Effect>, boolean]>([
    [
      "is only rehearsed",
      (site) => site.controls.cordon(undefined, false, alice, true, new AbortController().signal),
      true,
    ],
    [
      "is only rehearsed by the board's name",
      (site) => site.controls.cordon("pi-1", false, alice, true, new AbortController().signal),
      true,
    ],
    ["is about another board", (site) => site.cordon(false, "pi-2"), false],
    ["is a cordon, and not an uncordon", (site) => site.cordon(true), false],
  ])("does not end a drain if it %s", async (_, order, changes) => {
    const site = new Site();
    const drain = site.drain();
    await site.clock.advance("6s");
    expect(await order(site)).toMatchObject({ outcome: "done", result: { changed: changes } });
    await site.clock.advance("7s");
    expect([site.controls.draining()?.board, site.isCordoned()]).toEqual(["pi-1", true]);
    void site.cordon(false);
    await site.clock.advance("7s");
    expect(await drain).toMatchObject({ error: "uncordoned" });
  });

  test("of the board by its name ends its drain", async () => {
    const site = new Site();
    const drain = site.drain();
    await site.clock.advance("6s");
    const uncordon = site.cordon(false, "pi-1");
    await site.clock.advance("7s");
    expect(await uncordon).toMatchObject({ outcome: "done", result: { changed: true } });
    expect(await drain).toMatchObject({ error: "uncordoned", message: "board.uncordon ended the drain" });
  });

  test("leaves a drain alone that was ordered after it", async () => {
    const site = new Site();
    site.fates.set("GET", { lateBy: 5000 });
    const uncordon = site.cordon(false);
    await site.clock.advance("1s");
    const drain = site.drain();
    await site.clock.advance("7s");
    expect(await uncordon).toMatchObject({ outcome: "done", result: { changed: false } });
    expect(site.controls.draining()).toMatchObject({ board: "pi-1" });
    expect(site.isCordoned()).toBe(true);
    void site.cordon(false);
    await site.clock.advance("7s");
    await drain;
  });
});

describe("orders about one board", () => {
  test.each([undefined, "pi-2"])("take turns, and the last one counts (%s)", async (board) => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 5000 });
    const orders = [
      site.cordon(true, board),
      site.cordon(false, board),
      site.cordon(true, board),
      site.cordon(false, board),
    ];
    await site.clock.advance("1m");
    expect((await Promise.all(orders)).map(({ outcome }) => outcome)).toEqual(["done", "done", "done", "done"]);
    expect(site.isCordoned(board)).toBe(false);
    expect(site.events).toEqual(["BoardCordoned", "BoardUncordoned", "BoardCordoned", "BoardUncordoned"]);
  });

  test("do not wait for those about another one", async () => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 20_000 });
    void site.cordon(true, "pi-2");
    await site.clock.advance("1s");
    expect(await site.cordon(true)).toMatchObject({ outcome: "done", result: { changed: true } });
  });

  test("fail while an earlier one of unknown effect may still arrive", async () => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 90_000 });
    const lost = site.cordon(true);
    await site.clock.advance("31s");
    expect(await lost).toMatchObject({ outcome: "failed", code: 503 });
    expect(await site.cordon(false)).toMatchObject({ outcome: "failed", code: 503, error: "unsettled" });
    await site.clock.advance("60s");
    expect(site.isCordoned()).toBe(true);
    expect(await site.cordon(false)).toMatchObject({ outcome: "done", result: { changed: true } });
  });

  test("of unknown outcome are remembered for at most 64 boards, and the oldest is dropped first", async () => {
    const site = new Site();
    const errorOf = async (order: Promise<Effect>): Promise<string | undefined> => {
      const effect = await order;
      return effect.outcome === "failed" ? effect.error : undefined;
    };
    /** Cordons boards, as many at once as the executor has requests under way, and no answer comes. */
    const lose = async (...boards: readonly string[]): Promise<void> => {
      for (const board of boards) {
        site.fates.set("PATCH", { lateBy: 3_600_000 });
        void site.cordon(true, board);
        await site.clock.advance(1);
      }
      await site.clock.advance("31s");
    };
    for (let first = 10; first < 74; first += 4) await lose(...[0, 1, 2, 3].map((next) => `pi-${first + next}`));
    expect(await errorOf(site.cordon(false, "pi-10"))).toBe("unsettled");
    await lose("pi-74");
    expect(await errorOf(site.cordon(false, "pi-10"))).toBeUndefined();
    expect(await errorOf(site.cordon(false, "pi-11"))).toBe("unsettled");
    expect(await errorOf(site.cordon(false, "pi-74"))).toBe("unsettled");
  });

  test("are sure again once the Node has changed, which the late one would have to know", async () => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 90_000 });
    void site.cordon(true);
    await site.clock.advance("31s");
    site.report("pi-1");
    expect(await site.cordon(false)).toMatchObject({ outcome: "done", result: { changed: false } });
    await site.clock.advance("60s");
    expect(site.arrived.at(-1)).toBe("PATCH pi-1");
    expect(site.isCordoned()).toBe(false);
  });
});

describe("an order about a silent board", () => {
  test("is sure again once nothing that was sent before can arrive", async () => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 30 * 86_400_000 });
    const lost = site.cordon(true, "pi-2");
    await site.clock.advance("31s");
    expect(await lost).toMatchObject({ outcome: "failed", code: 503 });
    await site.clock.advance("19m58s");
    expect(await site.cordon(false, "pi-2")).toMatchObject({
      error: "unsettled",
      message: expect.stringContaining("in 20 minutes if the board is silent"),
    });
    await site.clock.advance("2s");
    expect(await site.cordon(false, "pi-2")).toMatchObject({ outcome: "done", result: { changed: false } });
  });

  test("is not sure if another order was lost since", async () => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 30 * 86_400_000 });
    void site.cordon(true, "pi-2");
    await site.clock.advance("15m");
    site.fates.set("PATCH", { lateBy: 30 * 86_400_000 });
    void site.cordon(true, "pi-2");
    await site.clock.advance("15m");
    expect(await site.cordon(false, "pi-2")).toMatchObject({ error: "unsettled" });
  });
});

describe("a drain that ends before its board is cordoned", () => {
  const ends = [
    ["it is cancelled", 499, "cancelled", "the drain was cancelled"],
    ["its time limit passes", 504, "timeout", "the time limit passed"],
  ] as const;

  /** A drain that ends after 10 s, by a cancellation or its time limit. */
  async function ended(site: Site, error: string): Promise<Effect> {
    const order = new AbortController();
    const drain = site.drain(order.signal, error === "timeout" ? 10_000 : 600_000);
    await site.clock.advance("10s");
    if (error === "cancelled") order.abort(new Error("cancelled"));
    await site.clock.advance("1m");
    return await drain;
  }

  test.each(ends)("because %s says that nothing was changed", async (_, code, error, what) => {
    const site = new Site();
    site.fates.set("GET", { lateBy: 20_000 });
    const message = `${what} before the board was cordoned, and nothing was changed`;
    expect(await ended(site, error)).toMatchObject({ outcome: "failed", code, error, message });
    expect([site.isCordoned(), site.evicted, site.events]).toEqual([false, [], []]);
  });

  test.each(ends)("because %s says so too if the API server had it wait", async (_, _code, error) => {
    const site = new Site();
    site.fates.set("PATCH", { busyFor: 20 });
    expect(await ended(site, error)).toMatchObject({ message: expect.stringContaining("nothing was changed") });
    expect(site.isCordoned()).toBe(false);
  });

  test.each(ends)(
    "because %s says that the cordon may follow if it was sent and not answered",
    async (_, code, error, what) => {
      const site = new Site();
      site.fates.set("PATCH", { lateBy: 90_000 });
      const rest = "but a write to its Node got no response and may still take effect";
      const message = `${what} before the board was cordoned, ${rest}`;
      expect(await ended(site, error)).toMatchObject({ outcome: "failed", code, error, message });
      await site.clock.advance("1m");
      expect([site.isCordoned(), site.evicted]).toEqual([true, []]);
    },
  );

  test("says that the board is cordoned if the answer came after the end", async () => {
    const site = new Site();
    site.fates.set("PATCH", { lateBy: 20_000 });
    expect(await ended(site, "cancelled")).toMatchObject({ message: "cancelled; the board stays cordoned" });
    expect(site.isCordoned()).toBe(true);
  });
});

describe("an order that is over", () => {
  test("sends nothing more, however long the API server had it wait", async () => {
    const site = new Site();
    const order = new AbortController();
    site.fates.set("PATCH", { busyFor: 20 });
    const effect = site.cordon(true, undefined, order.signal);
    await site.clock.advance("10s");
    order.abort(new Error("answered"));
    await site.clock.advance("60s");
    expect(await effect).toMatchObject({ outcome: "failed" });
    expect(site.arrived).toEqual(["GET pi-1"]);
    // It was certainly not sent, so the next order need not fear it.
    expect(await site.cordon(false)).toMatchObject({ outcome: "done", result: { changed: false } });
  });

  test("is not begun if it was over before its turn", async () => {
    const site = new Site();
    const order = new AbortController();
    site.fates.set("PATCH", { lateBy: 20_000 });
    const first = site.cordon(false);
    void site.cordon(true);
    const late = site.cordon(false, undefined, order.signal);
    await site.clock.advance("1s");
    order.abort(new Error("answered"));
    await site.clock.advance("60s");
    expect(await first).toMatchObject({ outcome: "done" });
    expect(await late).toMatchObject({ outcome: "failed" });
    expect(site.isCordoned()).toBe(true);
  });

  test("waits for the answer to what it had sent, so that the next order finds its effect", async () => {
    const site = new Site();
    const order = new AbortController();
    site.fates.set("PATCH", { lateBy: 20_000 });
    const sent = site.cordon(true, undefined, order.signal);
    await site.clock.advance("1s");
    order.abort(new Error("answered"));
    const next = site.cordon(false);
    await site.clock.advance("60s");
    expect(await sent).toMatchObject({ outcome: "done", result: { changed: true } });
    expect(await next).toMatchObject({ outcome: "done", result: { changed: true } });
    expect(site.isCordoned()).toBe(false);
  });
});
