import { expect, test } from "vitest";
import type { CommandDesk } from "../../../../agent/commands/desk/desk.ts";
import type { Answer, CommandRequest } from "../../../../agent/commands/desk/request.ts";
import { CommandBoard, freeze, lastOf, order } from "../../../support/command-desk.ts";

class PowerCut extends Error {}

interface Step {
  readonly step: string;
  readonly when: "before" | "after";
}

/** Every point between two steps of a command at which the power may fail. */
const steps = (written: readonly string[]): readonly Step[] =>
  written.flatMap((step) => [
    { step, when: "before" },
    { step, when: "after" },
  ]);

/** The answers that have arrived, without waiting for more. */
function gathered(desk: CommandDesk): Answer[] {
  const answers: Answer[] = [];
  void (async () => {
    for await (const answer of desk.leftover(new AbortController().signal)) answers.push(answer);
  })();
  return answers;
}

/**
 * The power fails at the step; the process that follows gets the command again, as the broker gives it where it was not
 * acknowledged, and also where it was. Returns what the site saw and what the fleet received in the end.
 */
async function story(request: CommandRequest, { step, when }: Step) {
  const board = new CommandBoard();
  let isDead = false;
  const dies = (at: string, moment: string): void => {
    // From the cut on nothing of this process reaches the disk or the site.
    if (isDead || (at === step && moment === when)) {
      isDead = true;
      throw new PowerCut("the power failed");
    }
  };
  board.atWrite = dies;
  board.effect = async (what) => {
    dies("effect", "before");
    board.effects.push(`effected ${what}`);
    dies("effect", "after");
    return { outcome: "done", result: {} };
  };
  void board.start().take(request);
  await board.clock.advance("1s");
  expect(isDead).toBe(true);

  board.atWrite = () => undefined;
  board.effect = async (what) => {
    board.effects.push(`effected ${what}`);
    return { outcome: "done", result: {} };
  };
  const next = board.start();
  const leftovers = gathered(next);
  const again = await next.take(request);
  await board.clock.advance("1s");
  const third = await lastOf(await next.take(request));
  return {
    effects: board.effects.filter((one) => one.startsWith("effected")).length,
    answered: [...leftovers.map(({ body }) => body.state), again === "no answer" ? again : again.answer.body.state],
    final: third,
    board,
  };
}

const once = (id: string): CommandRequest =>
  order({ id, name: "leader.step-down", args: { holdOff: 30 } }, { scope: "site" });

test.each(steps(["admit", "begin", "effect", "settle"]))(
  "a command that may have its effect only once has it at most once if the power fails $when $step",
  async (step) => {
    const { effects, answered, final } = await story(once(`S-${step.step}-${step.when}`), step);
    const isBegun = step.step !== "admit" && !(step.step === "begin" && step.when === "before");
    const isSettled = step.step === "settle" && step.when === "after";
    if (!isBegun || isSettled) {
      expect(effects).toBe(1);
      expect(final).toMatchObject({ state: "succeeded", replayed: true });
    } else {
      // Whether it took effect is unknown: the answer says so, and it is not tried again.
      expect(effects).toBeLessThanOrEqual(1);
      expect(effects).toBe(step.step === "begin" || (step.step === "effect" && step.when === "before") ? 0 : 1);
      expect(final).toMatchObject({ state: "failed", code: 500, error: "interrupted", replayed: true });
    }
    expect(answered.at(-1)).not.toBe("no answer");
  },
);

test.each(steps(["admit", "effect", "settle"]))(
  "a repeatable command has its effect in the end, and one answer, if the power fails $when $step",
  async (step) => {
    const { effects, final } = await story(freeze({ id: `I-${step.step}-${step.when}` }), step);
    expect(effects).toBeGreaterThanOrEqual(1);
    expect(effects).toBeLessThanOrEqual(2);
    expect(final).toMatchObject({ state: "succeeded", code: 200, replayed: true });
  },
);

test("a restart is answered by the next process", async () => {
  const board = new CommandBoard();
  const first = await board.start().take(order({ id: "R", name: "agent.restart" }));
  expect(first).toMatchObject({ answer: { body: { state: "accepted", code: 202 }, isTerminal: false } });
  await board.stop();
  expect(board.effects).toEqual(["restart"]);
  const answers = gathered(board.start());
  await board.clock.advance("1s");
  expect(answers.map(({ body }) => [body.id, body.state])).toEqual([["R", "succeeded"]]);
  expect(board.effects).toEqual(["restart"]);
});

test("each process sends a final answer again until it is marked as delivered", async () => {
  const board = new CommandBoard();
  await board.start().take(freeze({ id: "F" }));
  await board.clock.advance("1s");
  const next = board.start();
  const answers = gathered(next);
  await board.clock.advance("1s");
  expect(answers.map(({ body }) => body.state)).toEqual(["succeeded"]);
  for (const answer of answers) next.markDelivered(answer);
  const silent = gathered(board.start());
  await board.clock.advance("1s");
  expect(silent).toEqual([]);
});

test("a stored answer that cannot be read is answered as failed, and does not block any other", async () => {
  const board = new CommandBoard();
  const first = board.start();
  await first.take(freeze({ id: "DELIVERED" }));
  for (const id of ["DAMAGED", "WHOLE"]) await first.take(freeze({ id }));
  board.effect = () => new Promise(() => undefined);
  await first.take(freeze({ id: "OPEN" }));
  await first.take(order({ id: "OWN", name: "credentials.reload" }));
  await board.clock.advance("1s");
  const spoil = board.database.prepare("UPDATE commands SET answer = ? WHERE id = ?");
  spoil.run('{"v":1,"state', "DAMAGED");
  spoil.run("", "OPEN");
  spoil.run("[]", "OWN");
  board.effect = async () => ({ outcome: "done", result: {} });
  const next = board.start();
  const answers = gathered(next);
  await board.clock.advance("2m");
  expect(answers.map(({ body }) => [body.id, body.state, body.error])).toEqual([
    ["DELIVERED", "succeeded", undefined],
    ["DAMAGED", "failed", "internal"],
    ["WHOLE", "succeeded", undefined],
    ["OPEN", "failed", "interrupted"],
    ["OWN", "succeeded", undefined],
  ]);
  expect(await lastOf(await next.take(freeze({ id: "DAMAGED" })))).toMatchObject({ id: "DAMAGED", error: "internal" });
  expect([...next.damaged]).toEqual(["DAMAGED", "OPEN", "OWN"]);
});

test("a site command that outlived its process waits for the board to lead again", async () => {
  const board = new CommandBoard();
  board.effect = () => new Promise(() => undefined);
  await board.start().take(freeze({ id: "F" }));
  board.standing = { isLeader: false, leader: "edge-02", term: 17 };
  board.effect = async () => ({ outcome: "done", result: {} });
  const answers = gathered(board.start());
  await board.clock.advance("30s");
  expect(answers).toEqual([]);
  board.standing = { isLeader: true, leader: "edge-02", term: 18 };
  await board.clock.advance("2s");
  expect(answers.map(({ body }) => [body.state, body.term])).toEqual([["succeeded", 18]]);
});

test("a command of the site that waits for the board to lead again gives way to a later one", async () => {
  const board = new CommandBoard();
  board.effect = () => new Promise(() => undefined);
  await board.start().take(freeze({ id: "F" }));
  board.standing = { isLeader: false, leader: "edge-02", term: 17 };
  board.effect = async () => ({ outcome: "done", result: {} });
  board.effects.length = 0;
  const next = board.start();
  const answers = gathered(next);
  await board.clock.advance("30500ms");
  board.standing = { isLeader: true, leader: "edge-02", term: 18 };
  const thaw = order({ name: "eviction.thaw" }, { scope: "site" });
  expect(await lastOf(await next.take(thaw))).toMatchObject({ state: "succeeded" });
  await board.clock.advance("2s");
  expect(answers.map(({ body }) => [body.id, body.state, body.error])).toEqual([["F", "failed", "interrupted"]]);
  expect(board.effects).toEqual(["thaw site"]);
});

test.each([
  ["the board itself", "board.uncordon", {}, "board"],
  ["the board itself", "board.cordon", {}, "board"],
  ["the leader", "board.uncordon", { board: "edge-05" }, "site"],
  ["the leader", "board.cordon", { board: "edge-05" }, "site"],
] as const)(
  "an order to %s (%s) that a power cut interrupted does not overrule those that others have carried out since",
  async (_, name, args, scope) => {
    const board = new CommandBoard();
    board.effect = () => new Promise(() => undefined);
    await board.start().take(order({ id: "C", name, args }, { scope }));
    // Meanwhile, another agent carries out the order and then its contrary: the Node is as it was.
    const begun = [...board.effects];
    const answers = gathered(board.start());
    await board.clock.advance("2s");
    expect(answers.map(({ body }) => [body.id, body.state, body.error])).toEqual([["C", "failed", "interrupted"]]);
    expect(board.effects).toEqual(begun);
  },
);

test("an order on the board's own socket that a power cut interrupted is not carried out later either", async () => {
  const board = new CommandBoard();
  board.effect = () => new Promise(() => undefined);
  const uncordon = order({ id: "U", name: "board.uncordon" }, { origin: "local" });
  await board.start().take(uncordon);
  const begun = [...board.effects];
  const next = board.start();
  await board.clock.advance("2s");
  expect(board.effects).toEqual(begun);
  expect(await lastOf(await next.take(uncordon))).toMatchObject({ state: "failed", error: "interrupted" });
});

test("the next process does not start a drain that had not begun, because the board may be needed again", async () => {
  const board = new CommandBoard();
  board.atWrite = (step, when) => {
    if (step === "begin" && when === "before") throw new PowerCut("the power failed");
    if (step === "settle") throw new PowerCut("the power failed");
  };
  await board.start().take(order({ id: "D", name: "board.drain", args: { timeout: 60 } }));
  board.atWrite = () => undefined;
  const answers = gathered(board.start());
  await board.clock.advance("1s");
  expect(answers.map(({ body }) => [body.state, body.error])).toEqual([["failed", "interrupted"]]);
  expect(board.effects).toEqual([]);
});

test("if another board has led in the meantime, the answer says that the effect is unknown", async () => {
  const board = new CommandBoard();
  board.effect = () => new Promise(() => undefined);
  await board.start().take(freeze({ id: "F" }));
  board.standing = { isLeader: false, leader: "edge-05", term: 18 };
  const answers = gathered(board.start());
  await board.clock.advance("1s");
  expect(answers.map(({ body }) => [body.state, body.error, body.result])).toEqual([
    ["failed", "interrupted", { leader: "edge-05", term: 18 }],
  ]);
});

test.each([16, 19, undefined])(
  "a site command is not resumed in term %j if other boards may have led since, because they may have received contrary commands",
  async (term) => {
    const board = new CommandBoard();
    board.effect = () => new Promise(() => undefined);
    await board.start().take(order({ id: "T", name: "eviction.thaw" }, { scope: "site" }));
    const begun = [...board.effects];
    board.standing = { isLeader: true, leader: "edge-02", term };
    const answers = gathered(board.start());
    await board.clock.advance("2s");
    expect(answers.map(({ body }) => [body.state, body.error, body.result])).toEqual([
      ["failed", "interrupted", { leader: "edge-02", term }],
    ]);
    expect(board.effects).toEqual(begun);
  },
);

test("a drain that never began has expired if its time has passed when the board returns", async () => {
  const board = new CommandBoard();
  board.atWrite = (step, when) => {
    if (step === "begin" && when === "before") throw new PowerCut("the power failed");
    if (step === "settle") throw new PowerCut("the power failed");
  };
  await board.start().take(order({ id: "D", name: "board.drain", args: { timeout: 60 } }));
  await board.clock.advance("301s");
  board.atWrite = () => undefined;
  const answers = gathered(board.start());
  await board.clock.advance("1s");
  expect(answers.map(({ body }) => [body.state, body.code])).toEqual([["expired", 408]]);
  expect(board.effects).toEqual([]);
});

test("an outcome that could not be written to disk is stored later, and is in memory until then", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  board.atWrite = (step) => {
    if (step === "settle") throw new Error("disk full");
  };
  expect(await lastOf(await desk.take(freeze({ id: "F" })))).toMatchObject({ state: "succeeded" });
  expect(await lastOf(await desk.take(freeze({ id: "F" })))).toMatchObject({ state: "succeeded", replayed: true });
  board.atWrite = () => undefined;
  await board.clock.advance("61s");
  expect(await lastOf(await board.start().take(freeze({ id: "F" })))).toMatchObject({
    state: "succeeded",
    replayed: true,
  });
  expect(board.effects).toHaveLength(1);
});

test("a drain reports its progress at most every five seconds, and can be cancelled", async () => {
  const board = new CommandBoard();
  board.effect = (_, { progress, signal }) =>
    new Promise((resolve) => {
      let evicted = 0;
      const tick = (): void => {
        progress?.({ evicted: ++evicted });
        board.clock.after(1000, tick);
      };
      tick();
      signal?.addEventListener("abort", () =>
        resolve({ outcome: "failed", code: 500, error: "stopped", result: { evicted } }),
      );
    });
  const desk = board.start();
  const taken = await desk.take(order({ id: "D", name: "board.drain", args: { timeout: 600 } }));
  const states: unknown[] = [];
  void (async () => {
    if (taken === "no answer") return;
    for await (const { body } of taken.later ?? []) states.push([body.state, body.result]);
  })();
  await board.clock.advance("12s");
  expect(states).toEqual([
    ["running", { evicted: 6 }],
    ["running", { evicted: 11 }],
  ]);
  expect(await lastOf(await desk.take(order({ name: "cmd.cancel", args: { id: "nothing" } })))).toMatchObject({
    code: 409,
    error: "not-cancellable",
  });
  expect(await lastOf(await desk.take(order({ name: "cmd.cancel", args: { id: "D" } })))).toMatchObject({ code: 200 });
  await board.clock.advance("1ms");
  expect(states.at(-1)).toEqual(["cancelled", { evicted: 13 }]);
});

test("the status shows author, name and reason of commands, including those of the previous process", async () => {
  const board = new CommandBoard();
  const first = board.start();
  await first.take(freeze({ id: "F", more: { reason: "CHG-1182" } }));
  await board.clock.advance("1s");
  expect(first.counts.latest).toMatchObject([{ id: "F", state: "succeeded", by: "ops:alice", reason: "CHG-1182" }]);
  board.effect = () => new Promise(() => undefined);
  await first.take(order({ id: "D", name: "board.drain", args: { timeout: 60 }, more: { reason: "CHG-1183" } }));
  await board.stop();
  const next = board.start();
  expect(next.counts.latest.find(({ id }) => id === "D")).toMatchObject({ by: "ops:alice", reason: "CHG-1183" });
});

test("the log drops commands that cannot be redelivered, and refuses those that it could not remember", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const rows = () => board.database.prepare<{ rows: number }>("SELECT count(*) AS rows FROM commands").get()?.rows;
  const local = { origin: "local", author: "local:0", expirySeconds: 60 } as const;
  for (let n = 0; n < 2000; n++) await desk.take(order({ name: "board.cordon" }, local));
  expect(rows()).toBe(2000);
  expect(await lastOf(await desk.take(order({ name: "board.cordon" }, local)))).toMatchObject({ code: 507 });
  await board.clock.advance("660s");
  expect(rows()).toBe(0);
  expect(await lastOf(await desk.take(order({ name: "board.cordon" }, local)))).toMatchObject({ code: 200 });
});

test("a log level reverts by itself, even if the agent or the board restarted in between", async () => {
  const board = new CommandBoard();
  await board.start().take(order({ name: "log.level", args: { level: "debug", ttl: 600 } }));
  await board.clock.advance("300s");
  await board.stop();
  board.start();
  expect(board.levels).toEqual(["debug", "debug"]);
  await board.clock.advance("296s");
  expect(board.levels).toEqual(["debug", "debug"]);
  await board.clock.advance("2s");
  expect(board.levels).toEqual(["debug", "debug", undefined]);
});

test("a command that does not end does not delay the agent's stop, and the next agent resumes it", async () => {
  const board = new CommandBoard();
  board.effect = () => new Promise(() => undefined);
  const taken = await board.start().take(freeze({ id: "F" }));
  const states: unknown[] = [];
  const ended = (async () => {
    if (taken === "no answer") return;
    for await (const { body } of taken.later ?? []) states.push(body.state);
  })();
  await board.stop();
  await ended;
  expect(states).toEqual([]);
  board.effect = async () => ({ outcome: "done", result: {} });
  const answers = gathered(board.start());
  await board.clock.advance("1s");
  expect(answers.map(({ body }) => body.state)).toEqual(["succeeded"]);
});

test("a command with a short expiry is remembered for as long as the broker may deliver it again", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const near = freeze({ id: "F", more: { exp: "2026-11-20T12:05:00Z" } }, { expirySeconds: 86_400 });
  expect(await lastOf(await desk.take(near))).toMatchObject({ state: "succeeded" });
  await board.clock.advance("23h");
  expect(await lastOf(await desk.take(near))).toMatchObject({ state: "succeeded", replayed: true });
  await board.clock.advance("90m");
  expect(await lastOf(await desk.take(near))).toMatchObject({ state: "expired" });
  expect(board.effects).toHaveLength(1);
});
