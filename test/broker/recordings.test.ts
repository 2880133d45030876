import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { newKeyPair, signatureOf } from "../../agent/commands/desk/signature.ts";
import type { ApiRequest, ApiResponse } from "../../simulator/site-api/requests/exchange.ts";
import type { AgentProcess } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";
import { lack, soon, TestFleet } from "./site.ts";

/** Settings with which a site elects within seconds. */
const quick = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "4s" },
  link: { watchStall: "10s", blip: "2s" },
};

const commandTopic = "sw1/acme/plant7/_site/cmd";
const [counters, holds] = ["siteward.dev/counters", "siteward.dev/holds"];
const leaseUrl = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-plant7";

/** A signed command as it crossed the broker; an attacker who recorded it can publish the same bytes again. */
interface Recording {
  readonly id: string;
  readonly name: string;
  readonly payload: string;
  readonly sig: string;
}

/** Two real agents that trust one key, and the operator who owns it. */
class SignedSite {
  readonly fleet = new TestFleet();
  readonly folder = mkdtempSync(path.join(tmpdir(), "siteward-signed-"));
  readonly #pair = newKeyPair();
  #site: LinkedSite | undefined;
  #second: AgentProcess | undefined;
  #number = 0;
  #held: RegExp | undefined;
  #isHolding = false;

  constructor() {
    open.push(this);
  }

  /** From now on, matching writes of the Lease never arrive; undefined ends that. The result says whether there was one. */
  holdBack(what: RegExp | undefined): () => boolean {
    this.#held = what;
    this.#isHolding = false;
    return () => this.#isHolding;
  }

  async #around(request: ApiRequest, ask: (request: ApiRequest) => Promise<ApiResponse>): Promise<ApiResponse> {
    const { method, path: url, body = "" } = request;
    if (method === "PATCH" && url.includes("siteward-plant7") && this.#held?.test(body)) {
      this.#isHolding = true;
      return await new Promise<never>(() => undefined);
    }
    return await ask(request);
  }

  async start(): Promise<this> {
    await this.fleet.start();
    const trust = path.join(this.folder, "trust.d");
    mkdirSync(trust);
    this.trust("ops");
    const own = { ...quick, site: { name: "plant7" }, commands: { trust } };
    const config = { ...own, mqtt: this.fleet.agentSettings("pi-1") };
    this.#site = await new LinkedSite({ config, around: (request, ask) => this.#around(request, ask) }).start();
    await soon(() => this.first.isReady, 30).toBe(true);
    this.#second = this.#site.join("pi-2", [], { mqtt: this.fleet.agentSettings("pi-2") });
    return this;
  }

  get first(): AgentProcess {
    return this.#started.agent;
  }

  get second(): AgentProcess {
    if (!this.#second) throw new Error("the site was not started");
    return this.#second;
  }

  get #started(): LinkedSite {
    if (!this.#site) throw new Error("the site was not started");
    return this.#site;
  }

  /** Stores the public key under this name on all boards. */
  trust(kid: string): void {
    writeFileSync(path.join(this.folder, "trust.d", `${kid}.pub`), this.#pair.publicKey);
  }

  distrust(kid: string): void {
    rmSync(path.join(this.folder, "trust.d", `${kid}.pub`));
  }

  sign(name: string, ctr: number, args: object = {}, by?: string): Recording {
    const id = `R-${++this.#number}`;
    const payload = JSON.stringify({ v: 1, id, name, args, by: by ?? `ops:${id}`, reason: "CHG-1182", ctr });
    return {
      id,
      name,
      payload,
      sig: signatureOf(`${commandTopic}/${name}/${id}`, Buffer.from(payload), this.#pair.privateKey),
    };
  }

  /** Publishes the recorded bytes with a new expiry. Returns the leader's terminal answer. */
  async publish({ id, name, payload, sig }: Recording, kid = "ops"): Promise<Record<string, unknown>> {
    const topic = `sw1/acme/plant7/_site/res/${name}/${id}`;
    const { length } = this.fleet.said(topic);
    const properties = { messageExpiryInterval: 60, userProperties: { sig, kid } };
    const send = async (): Promise<void> => {
      await this.fleet.ops?.publishAsync(`${commandTopic}/${name}/${id}`, payload, { qos: 1, properties });
    };
    const answer = () =>
      this.fleet
        .said(topic)
        .slice(length)
        .find(({ state }) => state !== "accepted" && state !== "running");
    // A new leader subscribes a few seconds late; until then the broker has no recipient.
    for (let tries = 0; tries < 20 && answer() === undefined; tries++) {
      await send();
      for (let waited = 0; waited < 15 && answer() === undefined; waited++)
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return answer() ?? { state: "never answered" };
  }

  /** Publishes each of these once, as fast as the broker takes them, and does not wait for answers. */
  async flood(commands: readonly (Omit<Recording, "sig"> & { readonly sig?: string })[]): Promise<void> {
    const send = async ({ id, name, payload, sig }: (typeof commands)[number]): Promise<void> => {
      const properties = { messageExpiryInterval: 60, ...(sig && { userProperties: { sig, kid: "ops" } }) };
      await this.fleet.ops?.publishAsync(`${commandTopic}/${name}/${id}`, payload, { qos: 1, properties });
    };
    for (const command of commands) await send(command);
  }

  async annotations(): Promise<Readonly<Record<string, string>>> {
    const { metadata } = await this.#started.request<{ metadata: { annotations?: Record<string, string> } }>(
      "GET",
      leaseUrl,
    );
    return metadata.annotations ?? {};
  }

  /** Writes the counters of the Lease, as an attacker with that permission or a restored etcd would leave them. */
  async annotate(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    const patch = "application/merge-patch+json";
    await this.#started.request("PATCH", leaseUrl, { metadata: { annotations } }, patch);
  }

  async isFrozen(): Promise<boolean> {
    const { freezes } = JSON.parse((await this.annotations())[holds] ?? "{}");
    return Object.keys(freezes ?? {}).length > 0;
  }

  async stop(): Promise<void> {
    await this.#site?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const open: SignedSite[] = [];
afterEach(async () => {
  for (const site of open.splice(0)) await site.stop();
});

describe.skipIf(lack)("a flood of commands that anyone could send", () => {
  test("does not block a signed freeze, even if it claims the same author", async () => {
    const site = await new SignedSite().start();
    const thaw = site.sign("eviction.thaw", 3);
    expect(await site.publish(thaw)).toMatchObject({ state: "succeeded" });
    const by = "ops:alice";
    const bare = (n: number) => {
      const [name, id] = ["eviction.freeze", `U-${n}`];
      return { id, name, payload: JSON.stringify({ v: 1, id, name, args: { ttl: 60 }, by, reason: "x" }) };
    };
    const unsigned = Array.from({ length: 100 }, (_, n) => bare(n));
    const forged = unsigned.map((one) => ({ ...one, id: one.id.replace("U-", "F-"), sig: thaw.sig }));
    const forgedBytes = forged.map((one) => ({ ...one, payload: one.payload.replace("U-", "F-") }));
    await site.flood([...unsigned, ...forgedBytes, ...Array.from({ length: 100 }, () => thaw)]);
    await site.flood([site.sign("eviction.freeze", 5, { ttl: 3600 }, by)]);
    // Its answer waits behind those to the flood, which are sent one by one.
    await soon(() => site.isFrozen(), 5).toBe(true);
  });
});

describe.skipIf(lack)("a recorded signed site command", () => {
  test("is refused by the next leader: a thaw from before the current freeze does not end it", async () => {
    const site = await new SignedSite().start();
    expect(await site.publish(site.sign("eviction.freeze", 3, { ttl: 3600 }))).toMatchObject({ state: "succeeded" });
    const thaw = site.sign("eviction.thaw", 4);
    expect(await site.publish(thaw)).toMatchObject({ state: "succeeded", result: { wasFrozen: true } });
    expect(await site.publish(thaw)).toMatchObject({ state: "succeeded", replayed: true });
    expect(await site.publish(site.sign("eviction.freeze", 5, { ttl: 3600 }))).toMatchObject({ state: "succeeded" });
    expect(await site.first.stop()).toBe(0);
    await soon(() => site.second.isReady, 40).toBe(true);
    expect(await site.publish(thaw)).toMatchObject({ board: "pi-2", state: "rejected", error: "stale-counter" });
    expect(await site.isFrozen()).toBe(true);
    // The operator continues from the current counter.
    expect(await site.publish(site.sign("eviction.thaw", 6))).toMatchObject({ board: "pi-2", state: "succeeded" });
  });

  test("is refused by a former follower after a power cut of all boards, a restored Lease, and a renaming of the key", async () => {
    const site = await new SignedSite().start();
    const freeze = site.sign("eviction.freeze", 7, { ttl: 3600 });
    expect(await site.publish(freeze)).toMatchObject({ board: "pi-1", state: "succeeded" });
    const counted = (await site.annotations())[counters];
    expect(counted).toMatch(/^[\w-]{16}=7$/);
    // A follower reads the Lease once per term.
    await rest(9);
    for (const agent of [site.first, site.second]) await agent.stop("SIGKILL");
    await site.annotate({ [counters]: counted?.replace("=7", "=6") ?? null });
    site.distrust("ops");
    site.trust("night");
    site.second.start();
    await soon(() => site.second.isReady, 40).toBe(true);
    const refused = { board: "pi-2", state: "rejected", error: "stale-counter" };
    expect(await site.publish(freeze, "night")).toMatchObject(refused);
    expect((await site.annotations())[counters]).toBe(counted);
    await site.annotate({ [counters]: "\u0001 *=-1 {}" });
    await soon(async () => (await site.annotations())[counters], 20).toBe(counted);
    expect(await site.publish(site.sign("eviction.freeze", 7, { ttl: 3600 }), "night")).toMatchObject(refused);
    expect(await site.publish(site.sign("eviction.freeze", 8, { ttl: 3600 }), "night")).toMatchObject({
      state: "succeeded",
    });
  });

  test("does not end a later freeze of another leader if it is a thaw that a power cut interrupted", async () => {
    const site = await new SignedSite().start();
    expect(await site.publish(site.sign("eviction.freeze", 3, { ttl: 3600 }))).toMatchObject({ state: "succeeded" });
    const isHeld = site.holdBack(/"changes.{1,3}:2/);
    const thaw = site.sign("eviction.thaw", 4);
    const answered = site.publish(thaw);
    await soon(isHeld).toBe(true);
    await site.first.stop("SIGKILL");
    site.holdBack(undefined);
    await soon(() => site.second.isReady, 40).toBe(true);
    expect(await answered).toMatchObject({ board: "pi-2", state: "rejected", error: "stale-counter" });
    expect(await site.publish(site.sign("eviction.freeze", 5, { ttl: 3600 }))).toMatchObject({
      board: "pi-2",
      code: 200,
    });
    // The Lease is free when the first board is back.
    const stopped = site.second.stop();
    site.first.start();
    expect(await stopped).toBe(0);
    await soon(() => site.first.isReady, 40).toBe(true);
    const ends = () =>
      site.fleet
        .said(`sw1/acme/plant7/_site/res/eviction.thaw/${thaw.id}`)
        .filter(({ board, state }) => board === "pi-1" && state !== "accepted");
    await soon(() => ends()[0]).toMatchObject({ state: "failed", error: "interrupted" });
    expect(await site.isFrozen()).toBe(true);
    await rest(2);
    expect(JSON.parse((await site.annotations())[holds] ?? "{}").freezes.site.left).toBeGreaterThan(3000);
  });
});
