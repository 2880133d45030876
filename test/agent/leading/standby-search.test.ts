import { expect, test } from "vitest";
import type { KubeClient } from "../../../agent/client/kube-client.ts";
import { StandbySearch } from "../../../agent/leading/standby-search.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

interface Board {
  readonly name: string;
  readonly standby?: string;
  readonly ready?: "True" | "False";
}

/** A deaf leader, pi-1, and an API that lists three boards a page. */
class Site {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly requests: string[] = [];
  answers: "at once" | "never" | "with errors" = "at once";
  /** The boards whose Nodes cannot be read. */
  lost: ReadonlySet<string> = new Set();
  readonly #search: StandbySearch;

  constructor(boards: readonly Board[]) {
    const known = boards.map(({ name }) => name).sort();
    const node = ({ name, standby, ready = "True" }: Board) => ({
      metadata: { name, annotations: standby === undefined ? {} : { "siteward.dev/standby": standby } },
      status: { conditions: [{ type: "Ready", status: ready }] },
    });
    const client = {
      list: async (
        _: unknown,
        { continue: from = "0", labelSelector, metadataOnly }: Record<string, string | undefined>,
        each: (node: object) => void,
        signal: AbortSignal,
      ) => {
        this.requests.push(`list ${from} ${labelSelector}${metadataOnly ? "" : " with status"}`);
        if (this.answers === "with errors") throw new Error("refused");
        if (this.answers === "never")
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        const start = Number(from);
        for (const board of boards.slice(start, start + 3)) each({ metadata: node(board).metadata });
        return { continue: start + 3 < boards.length ? String(start + 3) : undefined };
      },
      get: async (_: unknown, { name, metadataOnly }: { readonly name: string; readonly metadataOnly?: boolean }) => {
        this.requests.push(`get ${name}${metadataOnly ? " briefly" : ""}`);
        if (this.lost.has(name)) throw new Error("refused");
        const { metadata, ...rest } = node(boards.find((board) => board.name === name) ?? { name });
        return metadataOnly ? { metadata } : { metadata, ...rest };
      },
    } as unknown as Pick<KubeClient, "list" | "get">;
    const ambient = { clock: this.clock, random: new SeededRandom(), log: this.log };
    this.#search = new StandbySearch(ambient, {
      client,
      scope: { nodeSelector: "site=north" },
      own: "pi-1",
      known: () => known,
    });
  }

  async find(): Promise<string | undefined> {
    const found = this.search(new AbortController().signal);
    if (this.answers === "never") await this.clock.advance(40_000);
    return (await found)?.name;
  }

  search(signal: AbortSignal): Promise<{ readonly name: string } | undefined> {
    return this.#search.find(signal);
  }
}

test("dead boards among those that announced themselves are skipped, and later pages are not listed", async () => {
  const site = new Site([
    { name: "pi-1", standby: "ready" },
    { name: "pi-2", standby: "ready", ready: "False" },
    { name: "pi-3", standby: "unwell" },
    { name: "pi-4" },
    { name: "pi-5", standby: "ready" },
    { name: "pi-6", standby: "ready" },
    { name: "pi-7", standby: "ready" },
  ]);
  expect(await site.find()).toBe("pi-5");
  expect(site.requests).toEqual(["list 0 site=north", "get pi-2", "list 3 site=north", "get pi-5"]);
});

test("a site without a standby is searched again after five minutes, not before", async () => {
  const site = new Site([{ name: "pi-1", standby: "ready" }, { name: "pi-2" }]);
  expect(await site.find()).toBeUndefined();
  await site.clock.advance(299_999);
  await site.find();
  expect(site.requests).toHaveLength(1);
  await site.clock.advance(1);
  await site.find();
  expect(site.requests).toHaveLength(2);
});

const afterwards = 60_000;

test.each(["never", "with errors"] as const)(
  "if the list answers %s, the known boards are read one by one, within a minute",
  async (how) => {
    const site = new Site([
      { name: "pi-1", standby: "ready" },
      { name: "pi-2" },
      { name: "pi-3", standby: "ready", ready: "False" },
      { name: "pi-4", standby: "ready" },
      { name: "pi-5", standby: "ready" },
      { name: "pi-6", standby: "ready" },
    ]);
    site.answers = how;
    site.lost = new Set(["pi-4"]);
    expect(await site.find()).toBe("pi-5");
    expect(site.requests.slice(1)).toEqual([
      "get pi-2 briefly",
      "get pi-3 briefly",
      "get pi-3",
      "get pi-4 briefly",
      "get pi-5 briefly",
      "get pi-5",
    ]);
    expect(JSON.stringify(site.log)).toContain("cannot list the Nodes to find a standby");
  },
);

test("a search whose list failed is repeated after a minute, and finds boards that announced themselves in the meantime", async () => {
  const boards: { name: string; standby?: string }[] = [{ name: "pi-1" }, { name: "pi-2" }];
  const site = new Site(boards);
  site.answers = "with errors";
  expect(await site.find()).toBeUndefined();
  boards[1] = { name: "pi-2", standby: "ready" };
  await site.clock.advance(afterwards - 1);
  expect(await site.find()).toBeUndefined();
  expect(site.requests).toHaveLength(2);
  await site.clock.advance(1);
  expect(await site.find()).toBe("pi-2");
});

test("at most 32 boards are read in a search, and the next one continues after them", async () => {
  const name = (number: number): string => `pi-${String(number).padStart(2, "0")}`;
  const site = new Site(Array.from({ length: 40 }, (_, index) => ({ name: name(index + 1) })));
  site.answers = "with errors";
  const read = async (): Promise<readonly string[]> => {
    site.requests.length = 0;
    await site.find();
    await site.clock.advance(afterwards);
    return site.requests.slice(1).map((request) => request.split(" ")[1] ?? "");
  };
  const first = await read();
  expect(first).toHaveLength(32);
  const second = await read();
  expect(second).toHaveLength(32);
  expect(second.slice(0, 9)).toEqual([33, 34, 35, 36, 37, 38, 39, 40, 1].map(name));
});

test("a search that is interrupted by the end of the term does not read any boards", async () => {
  const site = new Site([{ name: "pi-2", standby: "ready" }]);
  site.answers = "never";
  const term = new AbortController();
  const found = site.search(term.signal);
  term.abort();
  expect(await found).toBeUndefined();
  expect(site.requests).toHaveLength(1);
});
