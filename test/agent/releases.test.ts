import { describe, expect, test } from "vitest";
import { decodeBudget } from "../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import { durableTimers } from "../../agent/controllers/taint-eviction/timer.ts";
import { SiteModel } from "./controllers/site-model.ts";

/**
 * Boards are not updated all at once: one of version N leads after one of N-1, and the other way round. What crosses
 * from one to the other is recorded here as each release wrote it, and never edited: a text that can no longer be read
 * costs a site its allowance or its timers.
 */
const released = {
  "0.1.0": {
    budget:
      '{"v":1,"zones":{":\\u0000:a":{"state":"partial","level":0.25,"evictions":3},":\\u0000:b":{"state":"normal","level":1,"evictions":0}},"boards":{"a1":{"s":125,"added":"2026-01-01T00:00:00Z"},"a2":{"s":5}}}',
    timer:
      '{"v":1,"boot":"boot-1","uid":"uid-1","board":"pi-1","start":60000,"ran":20000,"length":300000,"taints":["node.kubernetes.io/unreachable=:NoExecute@2026-01-01T00:00:00Z"]}',
  },
} as const;

const now = { mono: 1_000_000, wall: 0 };

describe.each(Object.entries(released))("after a leader of %s", (_version, { budget, timer }) => {
  test("the zones continue with the allowance that was left", () => {
    const found = decodeBudget(budget, now);
    expect([...(found?.zones ?? [])]).toMatchObject([
      [":\0:a", { state: "partial", level: 0.25, evictions: 3 }],
      [":\0:b", { state: "normal", level: 1, evictions: 0 }],
    ]);
  });

  test("taints count the time that it recorded", () => {
    const found = decodeBudget(budget, now);
    expect(found?.taints.get("a1")).toMatchObject({ added: "2026-01-01T00:00:00Z", since: { mono: 875_000 } });
    expect(found?.taints.get("a2")).toMatchObject({ added: undefined, since: { mono: 995_000 } });
  });

  test("this board's own timers continue, and after a reboot with their elapsed time", () => {
    const [same, other] = ["boot-1", "boot-2"].map((boot) => durableTimers(boot).load(timer, now));
    expect(same).toMatchObject({ uid: "uid-1", start: { mono: 60_000 }, length: 300_000, origin: "loaded" });
    expect(other).toMatchObject({
      uid: "uid-1",
      start: { mono: 980_000 },
      length: 300_000,
      origin: "loaded after a reboot",
    });
  });
});

test("a board of 0.1.0 can lead after this version: it finds everything it needs in its own format", async () => {
  const site = new SiteModel();
  for (const name of ["a1", "a2"]) site.board(name, { zone: "a", conditions: { Ready: "False" } });
  for (const name of ["a3", "a4", "a5"]) site.board(name, { zone: "a" });
  await site.run("5s");
  const { v, zones, boards } = JSON.parse(site.budget);
  expect(v).toBe(1);
  expect(Object.keys(zones)).toEqual([":\0:a"]);
  for (const zone of Object.values(zones)) {
    expect(zone).toMatchObject({
      state: expect.stringMatching(/^(initial|normal|partial|full)$/),
      level: expect.any(Number),
      evictions: expect.any(Number),
    });
  }
  expect(boards.a1).toMatchObject({ s: 4, added: expect.any(String) });
});
