import { expect, test } from "vitest";
import type { Node } from "../../../../agent/api/core.ts";
import { shifted } from "../../../../agent/base/clock.ts";
import { OutdatedError } from "../../../../agent/execution/actions.ts";
import { type Freeze, freezeKey } from "../../../../agent/holds/holds.ts";
import { SiteModel } from "../site-model.ts";

/** One token in a hundred seconds, and a lost board to which another client writes. */
function lostBoard(): SiteModel {
  const site = new SiteModel({ evictionRate: 0.01 });
  site.board("other");
  site.board("pi", { conditions: { Ready: "Unknown" }, silent: true });
  return site;
}

const touched = (node: Node): Node => ({
  ...node,
  metadata: { ...node.metadata, annotations: { after: node.metadata.resourceVersion } },
});

/** Two writes, and the cache knows of the first one only. */
function writeTwice(site: SiteModel): void {
  site.change("pi", touched);
  site.link = "half-open";
  site.change("pi", touched);
  site.link = "up";
}

/** Another writer is always faster than our taint, for so many seconds. */
function alwaysOvertaken(site: SiteModel, seconds: number): void {
  site.refuse = (action) => {
    if (action.do !== "patch" || !action.cause || site.seconds >= seconds) return undefined;
    site.change("pi", touched);
    return "refresh";
  };
}

const tainted = (site: SiteModel): readonly number[] => site.times("pi +unreachable:NoExecute");
const questions = (site: SiteModel): number => site.fetched.filter((what) => what === "nodes pi").length;

test("a repeated turn reads the Node from the API instead of a cache that is behind", async () => {
  const site = lostBoard();
  for (let writes = 0; writes < 100; writes++) {
    writeTwice(site);
    await site.run("50ms");
  }
  expect(tainted(site)).toEqual([0.1]);
});

test("a turn that was paid for remains valid in the next monitor passes", async () => {
  const site = lostBoard();
  alwaysOvertaken(site, 12);
  await site.run("99s");
  expect(tainted(site)).toEqual([12]);
});

test("three monitor periods after its first conflict a turn costs a token again", async () => {
  const site = lostBoard();
  alwaysOvertaken(site, 16);
  await site.run("60s");
  expect(tainted(site)).toEqual([]);
  await site.run("1h");
  expect(tainted(site)).toHaveLength(1);
});

test("the API is not read as long as the cache shows the version of the conflict", async () => {
  const site = lostBoard();
  let conflicts = 0;
  site.refuse = (action) => (action.do === "patch" && action.cause && conflicts++ === 0 ? "refresh" : undefined);
  site.setTaints("pi", { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" });
  await site.run("10s");
  expect(questions(site)).toBe(0);
});

test("the taint of a board that is back is removed although the watch of Nodes is late", async () => {
  const site = lostBoard();
  await site.run("10s");
  expect(tainted(site)).toHaveLength(1);
  site.revive("pi");
  site.delay("Node");
  site.change("pi", touched);
  await site.run("20s");
  expect(site.noExecute("pi")).toEqual([]);
});

test("a board that only the API knows to be ready again is not tainted", async () => {
  const site = lostBoard();
  writeTwice(site);
  await site.run("50ms");
  site.change("pi", touched);
  site.link = "half-open";
  site.report("pi", { Ready: "True" });
  site.link = "up";
  await site.run("30s");
  expect(tainted(site)).toEqual([]);
});

test("a board that has been recreated does not get the taint of its predecessor", async () => {
  const site = lostBoard();
  writeTwice(site);
  await site.run("50ms");
  site.change("pi", touched);
  site.link = "half-open";
  site.board("pi", { uid: "another", conditions: { Ready: "Unknown" }, silent: true });
  site.link = "up";
  await site.run("30s");
  expect(tainted(site)).toEqual([]);
});

test("a board whose labels changed in the API waits for the cache, since it may have left the site", async () => {
  const site = lostBoard();
  writeTwice(site);
  await site.run("50ms");
  site.change("pi", touched);
  site.link = "half-open";
  site.change("pi", (node) => ({ ...node, metadata: { ...node.metadata, labels: { site: "another" } } }));
  site.link = "up";
  await site.run("9s");
  expect(tainted(site)).toEqual([]);
  site.change("pi", touched);
  await site.run("200ms");
  expect(tainted(site)).toHaveLength(1);
});

test("a freeze ends a turn that was paid for, so the next turn costs a token again", async () => {
  const site = lostBoard();
  alwaysOvertaken(site, 2);
  await site.run("1s");
  const end = shifted(site.now, 3000);
  const freeze: Freeze = { scope: "site", end, slowEnd: end, by: "ops", reason: undefined, foreign: {} };
  site.hold((holds) => ({ ...holds, freezes: new Map([[freezeKey(freeze), freeze]]) }));
  await site.run("50s");
  expect(tainted(site)).toEqual([]);
  await site.run("1h");
  expect(tainted(site)).toHaveLength(1);
});

test("a condition that an outage overtook was not sent, so its board is not read again for another try", async () => {
  const site = new SiteModel({ policy: "evidence", ownNode: "other" });
  for (const name of ["other", "pi"]) site.board(name);
  await site.run("2m");
  const tries: { readonly at: number; readonly questions: number }[] = [];
  site.refuse = (action) => {
    if (action.do !== "patch" || action.subresource !== "status" || tries.length > 1) return undefined;
    tries.push({ at: site.seconds, questions: questions(site) });
    return new OutdatedError("an outage began after the site was read");
  };
  site.silence("pi");
  await site.run("2m");
  const { at = 0, questions: before } = tries[0] ?? {};
  expect(tries[1]).toEqual({ at: at + 5, questions: before });
  expect(site.conditions("pi").Ready).toBe("Unknown");
});
