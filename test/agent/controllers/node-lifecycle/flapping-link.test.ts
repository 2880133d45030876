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
  test("does not postpone the eviction of a dead board forever", async () => {
    const made = await site();
    made.pod("web", { on: "d" });
    made.silence("d");
    await flap(made, { times: 20 });
    expect(made.conditions("d").Ready).toBe("Unknown");
    expect(made.noExecute("d")).toEqual(lost);
    expect(names.slice(0, 3).map((name) => made.conditions(name).Ready)).toEqual(["True", "True", "True"]);
  });

  test("ends the quarantine for the pods of a dead board once all other boards have reported", async () => {
    const made = await site();
    made.pod("web", { on: "d", tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }] });
    made.silence("d");
    await flap(made, { times: 30 });
    expect(made.exists("web")).toBe(false);
  });

  test("does not cause a board to be marked before it missed three grace periods, in five respites of less than 30 s", async () => {
    const made = await site();
    made.silence("d");
    await flap(made, { times: 5 });
    expect(made.conditions("d").Ready).toBe("True");
    await flap(made, { times: 1 });
    expect(made.conditions("d").Ready).toBe("Unknown");
  });

  test("restarts the count with each sign of life", async () => {
    const made = await site();
    made.silence("d");
    for (let round = 0; round < 5; round++) {
      await flap(made, { times: 4 });
      made.renew("d");
    }
    expect(made.times(/Ready=Unknown/)).toEqual([]);
  });

  test("proves nothing if it is up too briefly for every living board to be heard", async () => {
    const made = await site();
    made.silence("d");
    await flap(made, { times: 30, up: 9 });
    expect(made.conditions("d").Ready).toBe("True");
  });

  test("proves nothing while most boards are not heard, because the API server may refuse their heartbeats", async () => {
    const made = await site();
    made.silence("b", "c", "d");
    await flap(made, { times: 20 });
    expect(made.times(/Ready=Unknown/)).toEqual([]);
  });

  test("does not harm any board that answers on the LAN", async () => {
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

test("nor do they go because another board has missed less than three grace periods", async () => {
  const made = await site();
  made.silence("d");
  await flap(made, { times: 20 });
  expect(made.noExecute("d")).toEqual(lost);
  made.silence("c");
  await flap(made, { times: 3, up: 20 });
  made.pod("late", { on: "d" });
  await made.run("15s");
  expect(made.conditions("c").Ready).toBe("True");
  expect(made.exists("late")).toBe(true);
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
