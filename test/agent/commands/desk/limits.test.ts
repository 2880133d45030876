import { expect, test } from "vitest";
import type { CommandDesk } from "../../../../agent/commands/desk/desk.ts";
import type { CommandRequest } from "../../../../agent/commands/desk/request.ts";
import { newKeyPair, readPublicKey, signatureOf } from "../../../../agent/commands/desk/signature.ts";
import { CommandBoard, freeze, lastOf, order } from "../../../support/command-desk.ts";

const [pair, otherPair] = [newKeyPair(), newKeyPair()];

/** A board that trusts the keys "ops" and "night". */
function trustingBoard(): CommandBoard {
  const board = new CommandBoard();
  const limits = { commands: ["*"], scopes: ["board", "site", "fleet"], notAfter: undefined } as const;
  const keys = Object.entries({ ops: pair, night: otherPair }).map(
    ([kid, { publicKey }]) => [kid, { kid, key: readPublicKey(publicKey), ...limits }] as const,
  );
  board.trust = { isInstalled: true, keys: new Map(keys), problems: [] };
  return board;
}

const signed = (request: CommandRequest, kid = "ops", { privateKey } = pair): CommandRequest => ({
  ...request,
  signature: { kid, sig: signatureOf(request.topic, request.payload, privateKey) },
});

const signedFreeze = (ctr: number): CommandRequest => signed(freeze({ more: { ctr } }));

/** A freeze that an attacker signed with a key of its own, in the name of the trusted one. */
const forgedFreeze = (ctr: number): CommandRequest => signed(freeze({ more: { ctr } }), "ops", newcomer);

const newcomer = newKeyPair();

async function flood(desk: CommandDesk, count: number, request: (n: number) => CommandRequest): Promise<number> {
  let answered = 0;
  for (let n = 0; n < count; n++) if ((await desk.take(request(n))) !== "no answer") answered++;
  return answered;
}

const succeeded = { state: "succeeded", code: 200 };

test.each<[string, (n: number) => CommandRequest]>([
  ["unsigned freezes in the name of the operator", () => freeze()],
  ["unsigned freezes in a hundred names", (n) => freeze({ more: { by: `bot-${n % 100}` } })],
  ["reads in the name of the operator", () => order({ name: "ping" })],
  ["freezes with an unknown key", () => signed(freeze({ more: { ctr: 9 } }), "stranger", newcomer)],
  ["freezes with a forged signature", (n) => forgedFreeze(1_000_000 + n)],
  ["dry runs in the name of the operator", (n) => signed(freeze({ more: { ctr: 1_000_000 + n, dryRun: true } }))],
  ["unreadable commands", () => freeze({ more: { v: 1.5 } })],
])("200 commands that anyone may send do not crowd out a signed freeze: %s", async (_, request) => {
  const board = trustingBoard();
  const desk = board.start();
  expect(await flood(desk, 200, request)).toBeLessThanOrEqual(61);
  expect(await lastOf(await desk.take(signedFreeze(7)))).toMatchObject(succeeded);
});

test("a dry run that succeeds is counted as rehearsed, not as done; a read, and a dry run that fails, by its end", async () => {
  const desk = trustingBoard().start();
  await lastOf(await desk.take(signed(freeze({ more: { ctr: 7, dryRun: true } }))));
  await lastOf(await desk.take(signedFreeze(8)));
  await lastOf(await desk.take(order({ name: "ping", more: { dryRun: true } })));
  expect(desk.counts.view().answered).toEqual([
    { name: "eviction.freeze", state: "rehearsed", count: 1 },
    { name: "eviction.freeze", state: "succeeded", count: 1 },
    { name: "ping", state: "succeeded", count: 1 },
  ]);
});

test("a recorded command does not use the allowance of its key, regardless of how often it is sent", async () => {
  const board = trustingBoard();
  const recording = signedFreeze(7);
  const first = board.start();
  expect(await lastOf(await first.take(recording))).toMatchObject(succeeded);
  expect(await flood(first, 1000, () => recording)).toBe(30);
  expect(await lastOf(await first.take(signedFreeze(8)))).toMatchObject(succeeded);
  expect(board.effects).toHaveLength(2);

  // The next leader never received it.
  const next = trustingBoard();
  for (const [key, counter] of board.siteCounters) next.siteCounters.set(key, counter);
  const second = next.start();
  expect(await lastOf(await second.take(recording))).toMatchObject({ error: "stale-counter" });
  expect(await flood(second, 999, () => recording)).toBeLessThanOrEqual(60);
  expect(await lastOf(await second.take(signedFreeze(9)))).toMatchObject(succeeded);
  expect(next.effects).toHaveLength(1);
});

test("a hundred recorded commands that were refused do not use the allowance of their key", async () => {
  const board = trustingBoard();
  const desk = board.start();
  const old = Array.from({ length: 100 }, (_, n) => signedFreeze(n + 1));
  board.standing = { isLeader: false, leader: "edge-05", term: 18 };
  await flood(desk, 400, (n) => old[n % old.length] ?? signedFreeze(0));
  board.standing = { isLeader: true, leader: "edge-02", term: 19 };
  expect(await lastOf(await desk.take(signedFreeze(101)))).toMatchObject(succeeded);
  expect(await flood(desk, 400, (n) => old[n % old.length] ?? signedFreeze(0))).toBeLessThanOrEqual(60);
  expect(await lastOf(await desk.take(signedFreeze(102)))).toMatchObject(succeeded);
  expect(board.effects).toHaveLength(2);
});

test("a key may make five changes in a burst and then one every ten seconds, and does not use the allowance of another key", async () => {
  const board = trustingBoard();
  const desk = board.start();
  for (let ctr = 1; ctr <= 5; ctr++) expect(await lastOf(await desk.take(signedFreeze(ctr)))).toMatchObject(succeeded);
  const limited = { error: "rate-limited", retryAfterMs: 10_000 };
  expect(await lastOf(await desk.take(signedFreeze(6)))).toMatchObject(limited);
  const renamed = signed(freeze({ more: { ctr: 7, by: "ops:bob" } }));
  expect(await lastOf(await desk.take(renamed))).toBeUndefined();
  const other = signed(freeze({ more: { ctr: 1 } }), "night", otherPair);
  expect(await lastOf(await desk.take(other))).toMatchObject(succeeded);
  await board.clock.advance("10s");
  expect(await lastOf(await desk.take(signedFreeze(6)))).toMatchObject(succeeded);
});

test("forged signatures are checked in a burst of a thousand and then a hundred a second; valid ones do not count", async () => {
  const board = trustingBoard();
  const desk = board.start();
  await flood(desk, 999, forgedFreeze);
  expect(await lastOf(await desk.take(signedFreeze(7)))).toMatchObject(succeeded);
  await flood(desk, 1, () => forgedFreeze(8));
  const before = desk.counts.view().rejected;
  await flood(desk, 50, () => forgedFreeze(8));
  const limited = { code: 429, error: "rate-limited" };
  const count = before.find(({ error }) => error === "rate-limited")?.count ?? 0;
  expect(desk.counts.view().rejected).toContainEqual({ ...limited, count: count + 50 });
  await board.clock.advance("1s");
  const freezes = [8, 9, 10].map(signedFreeze);
  for (const request of freezes) {
    await flood(desk, 33, () => forgedFreeze(99));
    expect(await lastOf(await desk.take(request))).toMatchObject(succeeded);
  }
});
