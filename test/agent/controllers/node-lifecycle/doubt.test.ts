import { expect, test } from "vitest";
import { boardsToAsk } from "../../../../agent/controllers/node-lifecycle/boards-to-ask.ts";
import type { Link } from "../../../../agent/judgement/link.ts";
import { SiteModel } from "../site-model.ts";

const live: Link = {
  live: true,
  notLiveSince: undefined,
  restoredAt: undefined,
  proof: { nodes: undefined, leases: undefined },
};

/** pi-1 and pi-2 fall silent; the leader runs on pi-2. */
async function siteAfter(silence: string): Promise<SiteModel> {
  const site = new SiteModel({ policy: "evidence", ownNode: "pi-2" });
  for (const name of ["pi-1", "pi-2", "pi-3"]) site.board(name);
  await site.run("1m");
  site.silence("pi-1", "pi-2");
  await site.run(silence);
  return site;
}

const doubted = ({ memory, settings, now }: SiteModel, link = live) => boardsToAsk(memory, { link, settings }, now);

test.each([
  ["9s", []],
  ["30s", ["pi-1"]],
  ["1h", ["pi-1"]],
] as const)(
  "after two boards have been silent for %s, with a grace period of 40 s, these are asked on the LAN: %j",
  async (silence, boards) => {
    expect(doubted(await siteAfter(silence))).toEqual(boards);
  },
);

test("while the leader's own view is not live, the leader does not know which boards to ask", async () => {
  expect(doubted(await siteAfter("1m"), { ...live, live: false })).toBe(undefined);
});

test.each([
  ["30s", []],
  ["1m", ["pi-1"]],
] as const)(
  "after an outage the silence counts from its end, but one that was marked before, after %s, is asked on",
  async (silence, marked) => {
    const site = await siteAfter(silence);
    const ended = (before: number): Link => ({ ...live, restoredAt: { mono: site.now.mono - before, wall: 0 } });
    expect(doubted(site, ended(19_999))).toEqual(marked);
    expect(doubted(site, ended(20_000))).toEqual(["pi-1"]);
  },
);
