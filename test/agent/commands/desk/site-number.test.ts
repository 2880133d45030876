import { expect, test } from "vitest";
import type { CommandRequest, DeskReply } from "../../../../agent/commands/desk/request.ts";
import { fingerprintOf, newKeyPair, readPublicKey, signatureOf } from "../../../../agent/commands/desk/signature.ts";
import { noTrust } from "../../../../agent/commands/desk/trust.ts";
import { CommandBoard, freeze, lastOf, order } from "../../../support/command-desk.ts";

const pair = newKeyPair();
const key = readPublicKey(pair.publicKey);
const fingerprint = fingerprintOf(key);

function trusting(board: CommandBoard): CommandBoard {
  const limits = { commands: ["*"], scopes: ["board", "site", "fleet"], notAfter: undefined } as const;
  board.trust = { isInstalled: true, keys: new Map([["ops", { kid: "ops", key, ...limits }]]), problems: [] };
  return board;
}

const signed = (request: CommandRequest): CommandRequest => ({
  ...request,
  signature: { kid: "ops", sig: signatureOf(request.topic, request.payload, pair.privateKey) },
});

const counted = (ctr: number, id = `C-${ctr}`): CommandRequest => signed(freeze({ id, more: { ctr } }));

/** A board whose writes to the Lease end when the test says so. */
function slowLease() {
  const board = trusting(new CommandBoard());
  const writing = Promise.withResolvers<void>();
  board.writesLease = () => writing.promise;
  return { board, desk: board.start(), writing };
}

const state = (taken: DeskReply): unknown => (taken === "no answer" ? taken : taken.answer.body.state);

test("a signed site command is neither accepted nor begun before its counter is on the Lease", async () => {
  const { board, desk, writing } = slowLease();
  let answer: DeskReply | undefined;
  const taken = desk.take(counted(7)).then((found) => {
    answer = found;
  });
  await board.clock.advance("3s");
  expect([answer, board.effects, board.siteCounters.size]).toEqual([undefined, [], 0]);
  writing.resolve();
  await taken;
  expect(board.siteCounters.get(fingerprint)).toBe(7);
  expect(answer && (await lastOf(answer))).toMatchObject({ state: "succeeded" });
  expect(board.effects).toEqual(["freeze site 3600000"]);
});

test("a counter that another leader accepted is refused by a board that never received the command", async () => {
  const board = trusting(new CommandBoard());
  board.siteCounters.set(fingerprint, 7);
  const desk = board.start();
  const refused = { state: "rejected", code: 409, error: "stale-counter" };
  expect(await lastOf(await desk.take(counted(6)))).toMatchObject(refused);
  expect(await lastOf(await desk.take(counted(7)))).toMatchObject(refused);
  expect(await lastOf(await desk.take(counted(8)))).toMatchObject({ state: "succeeded" });
});

test("a command whose counter cannot be written to the Lease is refused, has no effect, and leaves nothing to resume", async () => {
  const { board, desk, writing } = slowLease();
  const taken = desk.take(counted(7));
  writing.reject(new Error("the Lease was not written within 10s"));
  const refusal = {
    ...{ state: "rejected", code: 503, error: "not-written" },
    message: expect.stringContaining("not written within 10s"),
  };
  expect(await lastOf(await taken)).toMatchObject(refusal);
  expect(await lastOf(await desk.take(counted(7)))).toMatchObject({ ...refusal, replayed: true });
  await board.stop();
  board.start();
  await board.clock.advance("5m");
  expect(board.effects).toEqual([]);
});

test.each([
  ["the term ends", (board: CommandBoard) => Object.assign(board.standing, { isLeader: false }), "not-leader"],
  ["its time runs out", (board: CommandBoard) => board.clock.advance("6m"), "expired"],
  ["the disk fills up", (board: CommandBoard) => Object.assign(board, { obstacle: "full" }), "journal-unavailable"],
  ["the agent stops", (board: CommandBoard) => board.stop(), "stopping"],
])("a command is checked again after the Lease was written, in case %s", async (_what, happens, error) => {
  const { board, desk, writing } = slowLease();
  const taken = desk.take(counted(7));
  await happens(board);
  writing.resolve();
  expect(await lastOf(await taken)).toMatchObject({ error });
  expect(board.effects).toEqual([]);
});

test("a command that is delivered again while its counter is being written gets the same answer, and has one effect", async () => {
  const { board, desk, writing } = slowLease();
  const copies = [desk.take(counted(7)), desk.take(counted(7)), desk.take(counted(7))];
  await board.clock.advance("1s");
  writing.resolve();
  expect((await Promise.all(copies)).map(state)).toEqual(["accepted", "accepted", "accepted"]);
  expect(board.effects).toEqual(["freeze site 3600000"]);
});

test("another command with the same counter or the same id is refused while the counter is being written", async () => {
  const { board, desk, writing } = slowLease();
  board.writesLease = async () => {
    board.siteCounters.set(fingerprint, 7);
    await writing.promise;
  };
  const first = desk.take(counted(7));
  const other = await lastOf(await desk.take(counted(7, "OTHER")));
  const reused = desk.take(counted(8, "C-7"));
  writing.resolve();
  expect(other).toMatchObject({ error: "stale-counter" });
  expect(await lastOf(await reused)).toMatchObject({ error: "id-reused" });
  expect(await lastOf(await first)).toMatchObject({ state: "succeeded" });
});

test("if the power fails after the Lease was written and before the command was, the command is refused when it is sent again", async () => {
  const board = trusting(new CommandBoard());
  board.atWrite = (step, when) => {
    if (step === "admit" && when === "before") throw new Error("the power failed");
  };
  await board.start().take(counted(7));
  board.atWrite = () => undefined;
  expect(await lastOf(await board.start().take(counted(7)))).toMatchObject({ error: "stale-counter" });
  expect(board.effects).toEqual([]);
});

test("if the power fails after the command was accepted, it is executed once, and its counter is not checked again", async () => {
  const board = trusting(new CommandBoard());
  board.effect = () => new Promise(() => undefined);
  await board.start().take(counted(7));
  board.effect = async () => ({ outcome: "done", result: {} });
  board.effects.length = 0;
  const writes: number[] = [];
  board.writesLease = async () => void writes.push(7);
  const desk = board.start();
  await board.clock.advance("1s");
  expect(board.effects).toEqual(["freeze site 3600000"]);
  expect(await lastOf(await desk.take(counted(7)))).toMatchObject({ state: "succeeded", replayed: true });
  expect(writes).toEqual([]);
});

test("an expiry alone is not enough for a site command, because the next leader could not know that it was accepted", async () => {
  const board = trusting(new CommandBoard());
  const desk = board.start();
  const exp = { exp: "2026-11-20T12:05:00Z" };
  expect(await lastOf(await desk.take(signed(freeze({ more: exp }))))).toMatchObject({ code: 400, field: "/ctr" });
  expect(await lastOf(await desk.take(signed(freeze({ more: { ...exp, ctr: 1 } }))))).toMatchObject({ code: 200 });
  // A board knows the ids that it accepted itself.
  expect(await lastOf(await desk.take(signed(order({ name: "board.cordon", more: exp }))))).toMatchObject({
    code: 200,
  });
});

test("commands of this board, dry runs, reads, unsigned commands and local commands do not write the Lease", async () => {
  const board = new CommandBoard();
  let writes = 0;
  board.writesLease = async () => void writes++;
  const desk = board.start();
  const local = { origin: "local", expirySeconds: undefined, author: "local:1000" } as const;
  expect(await lastOf(await desk.take(freeze()))).toMatchObject({ code: 200 });
  trusting(board);
  for (const request of [
    signed(order({ name: "board.cordon", more: { ctr: 1 } })),
    signed(freeze({ more: { ctr: 2, dryRun: true } })),
    signed(order({ name: "status.get", more: { ctr: 3 } }, { scope: "site" })),
    freeze({}, local),
  ])
    expect(await lastOf(await desk.take(request))).toMatchObject({ code: 200 });
  expect(writes).toBe(0);
});

test("a board's own commands and its site's commands share one counter on that board, but not on any other", async () => {
  const board = trusting(new CommandBoard());
  const desk = board.start();
  const cordon = (ctr: number): CommandRequest => signed(order({ name: "board.cordon", more: { ctr } }));
  expect(await lastOf(await desk.take(cordon(5)))).toMatchObject({ code: 200 });
  expect(await lastOf(await desk.take(counted(5)))).toMatchObject({ error: "stale-counter" });
  expect(await lastOf(await desk.take(counted(6)))).toMatchObject({ code: 200 });
  expect(board.siteCounters.get(fingerprint)).toBe(6);
  const follower = trusting(new CommandBoard());
  follower.siteCounters.set(fingerprint, 6);
  // It waited at the broker for a board that was away while the site's leader went on counting.
  expect(await lastOf(await follower.start().take(cordon(4)))).toMatchObject({ code: 200 });
});

test("the second of two commands of one kind in one packet is refused, whether or not the Lease is written", async () => {
  for (const isSigned of [false, true]) {
    const board = trusting(new CommandBoard());
    if (!isSigned) board.trust = noTrust;
    board.effect = () => new Promise(() => undefined);
    const desk = board.start();
    const stepDown = (ctr: number): CommandRequest =>
      signed(order({ id: `S-${ctr}`, name: "leader.step-down", more: { ctr } }, { scope: "site" }));
    const taken = await Promise.all([desk.take(stepDown(1)), desk.take(stepDown(2))]);
    expect(taken.map((one) => (one === "no answer" ? one : (one.answer.body.error ?? one.answer.body.state)))).toEqual([
      "accepted",
      "busy",
    ]);
  }
});
