import { describe, expect, test } from "vitest";
import type { NodeLifecycleSettings } from "../../../../agent/controllers/node-lifecycle/settings.ts";
import { SiteModel } from "../site-model.ts";

const names = ["a", "b", "c", "d"];
const lost = ["unreachable:NoExecute"];

/** Four boards that have been led for a while. */
async function site(settings: Partial<NodeLifecycleSettings> = {}): Promise<SiteModel> {
  const made = new SiteModel({ policy: "evidence", gracePeriod: 40_000, ...settings });
  for (const name of names) made.board(name);
  await made.run("2m");
  return made;
}

/** Renewals fail everywhere for 12 s, again and again; in between all goes well for some time. */
async function flap(
  made: SiteModel,
  { times, up = 30 }: { readonly times: number; readonly up?: number },
): Promise<void> {
  for (let time = 0; time < times; time++) {
    made.cut();
    await made.run("12s");
    made.restore();
    await made.run(`${up}s`);
  }
}

describe("a link that fails for some seconds every half minute", () => {
  test("does not postpone for ever what is to happen to a dead board", async () => {
    const made = await site();
    made.pod("web", { on: "d" });
    made.silence("d");
    await flap(made, { times: 20 });
    expect(made.conditions("d").Ready).toBe("Unknown");
    expect(made.noExecute("d")).toEqual(lost);
    expect(names.slice(0, 3).map((name) => made.conditions(name).Ready)).toEqual(["True", "True", "True"]);
  });

  test("ends the quarantine for the pods of a dead board once all others have reported", async () => {
    const made = await site();
    made.pod("web", { on: "d", tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }] });
    made.silence("d");
    await flap(made, { times: 30 });
    expect(made.exists("web")).toBe(false);
  });

  test("marks no board before it missed three grace periods, in five respites of less than 30 s", async () => {
    const made = await site();
    made.silence("d");
    await flap(made, { times: 5 });
    expect(made.conditions("d").Ready).toBe("True");
    await flap(made, { times: 1 });
    expect(made.conditions("d").Ready).toBe("Unknown");
  });

  test("starts to count again with each sign of life", async () => {
    const made = await site();
    made.silence("d");
    for (let round = 0; round < 5; round++) {
      await flap(made, { times: 4 });
      made.renew("d");
    }
    expect(made.times(/Ready=Unknown/)).toEqual([]);
  });

  test("proves nothing while it is up too briefly for every living board to be heard", async () => {
    const made = await site();
    made.silence("d");
    await flap(made, { times: 30, up: 9 });
    expect(made.conditions("d").Ready).toBe("True");
  });

  test("proves nothing while most boards are not heard: the API server may refuse their heartbeats", async () => {
    const made = await site();
    made.silence("b", "c", "d");
    await flap(made, { times: 20 });
    expect(made.times(/Ready=Unknown/)).toEqual([]);
  });

  test("harms no board that answers on the LAN", async () => {
    const made = await site();
    made.silence("d");
    made.answer("d", { is: "ok" });
    await flap(made, { times: 20 });
    expect(made.noExecute("d")).toEqual([]);
  });

  test("begins a new grace period each time under policy kubernetes", async () => {
    const made = await site({ policy: "kubernetes" });
    made.silence("d");
    await flap(made, { times: 20 });
    expect(made.conditions("d").Ready).toBe("True");
    await made.run("20s");
    expect(made.conditions("d").Ready).toBe("Unknown");
  });
});

/** The outage is so long that the leader loses its term; it leads again when the link is back. */
async function loseTerm(made: SiteModel, { up = 45, forgets = false } = {}): Promise<void> {
  const recalled = forgets ? undefined : made.recollection;
  made.cut();
  await made.run("50s");
  made.restore();
  await made.run("3s");
  await made.lead(recalled && { recalled });
  await made.run(`${up}s`);
}

describe("a link that fails for longer than a term lasts, again and again", () => {
  test("does not postpone for ever what is to happen to a dead board", async () => {
    const made = await site();
    made.pod("web", { on: "d", tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 15 }] });
    made.silence("d");
    await made.run("20s");
    for (let term = 0; term < 9; term++) await loseTerm(made, { up: 38 });
    expect(made.noExecute("d")).toEqual(lost);
    expect(made.exists("web")).toBe(false);
    expect(names.slice(0, 3).map((name) => made.conditions(name).Ready)).toEqual(["True", "True", "True"]);
  });

  test("postpones it for ever where the process ends each time, because nothing is known then", async () => {
    const made = await site();
    made.silence("d");
    await made.run("20s");
    for (let term = 0; term < 9; term++) await loseTerm(made, { up: 38, forgets: true });
    expect(made.conditions("d").Ready).toBe("True");
  });

  test("begins to count anew for a board that renews its Lease once, between two terms", async () => {
    const made = await site();
    made.silence("d");
    await made.run("20s");
    for (let round = 0; round < 4; round++) {
      for (let term = 0; term < 3; term++) await loseTerm(made, { up: 38 });
      const { recollection: recalled } = made;
      made.renew("d");
      await made.lead({ recalled });
      await made.run("5s");
    }
    expect(made.times(/Ready=Unknown/)).toEqual([]);
  });

  test.each([
    ["as it was", {}, "Unknown"],
    ["created anew", { uid: "another" }, "True"],
    ["after another renewal of its Lease", { lease: "1" }, "True"],
    ["after another report of its kubelet", { heartbeat: "2020-02-02T00:00:00Z" }, "True"],
  ])("counts for a board that the next term finds %s", async (_what, other, ready) => {
    const made = await site();
    made.silence("d");
    await made.run("20s");
    for (let term = 0; term < 4; term++) await loseTerm(made, { up: 38 });
    expect(made.conditions("d").Ready).toBe("True");
    const { respites, silences } = made.recollection;
    const changed = new Map([...silences].map(([name, silence]) => [name, { ...silence, ...other }]));
    await made.lead({ recalled: { respites, silences: changed } });
    await made.run("35s");
    expect(made.conditions("d").Ready).toBe(ready);
  });

  test("keeps only the boards that were silent while others were heard", async () => {
    const made = await site();
    made.silence("d");
    await made.run("30s");
    made.cut();
    await made.run("80s");
    expect([...made.recollection.silences.keys()]).toEqual(["d"]);
  });

  test("does not shorten the grace period of a new leader that knows of no earlier silence", async () => {
    const made = await site();
    made.silence("d");
    await made.lead();
    await made.run("35s");
    expect(made.conditions("d").Ready).toBe("True");
    await made.run("15s");
    expect(made.conditions("d").Ready).toBe("Unknown");
  });
});

test("the pods of a board that missed the time between outages stay until every other board has reported", async () => {
  const made = await site();
  made.silence("d");
  await flap(made, { times: 20 });
  expect(made.noExecute("d")).toEqual(lost);
  made.silence("c");
  await flap(made, { times: 1, up: 20 });
  made.pod("late", { on: "d" });
  await made.run("15s");
  expect(made.exists("late")).toBe(true);
  expect(made.heldFor).toEqual(["quarantine"]);
  made.revive("c");
  await made.run("10s");
  expect(made.exists("late")).toBe(false);
});

test("the pods of such a board are in quarantine after an outage until the board is judged again", async () => {
  const made = await site();
  made.silence("d");
  await flap(made, { times: 20 });
  made.cut();
  made.skip("12s");
  made.restore();
  made.pod("late", { on: "d" });
  await made.run(100);
  expect(made.exists("late")).toBe(true);
  expect(made.heldFor).toEqual(["quarantine"]);
});
