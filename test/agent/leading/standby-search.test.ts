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
  readonly #search: StandbySearch;

  constructor(boards: readonly Board[]) {
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
      get: async (_: unknown, { name }: { readonly name: string }) => {
        this.requests.push(`get ${name}`);
        return node(boards.find((board) => board.name === name) ?? { name });
      },
    } as unknown as Pick<KubeClient, "list" | "get">;
    const ambient = { clock: this.clock, random: new SeededRandom(), log: this.log };
    this.#search = new StandbySearch(ambient, { client, scope: { nodeSelector: "site=north" }, own: "pi-1" });
  }

  async find(): Promise<string | undefined> {
    const found = this.#search.find(new AbortController().signal);
    if (this.answers === "never") await this.clock.advance(60_000);
    return (await found)?.name;
  }
}

test("dead boards among those that announced themselves are passed over, and later pages are not listed", async () => {
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

test.each(["never", "with errors"] as const)(
  "an API that answers %s shows no standby, within a minute",
  async (how) => {
    const site = new Site([{ name: "pi-2", standby: "ready" }]);
    site.answers = how;
    expect(await site.find()).toBeUndefined();
    expect(JSON.stringify(site.log)).toContain("the API does not show whether another board stands by");
  },
);
