import { expect, test } from "vitest";
import type { JsonRecord } from "../../../../agent/base/json.ts";
import type { Effect } from "../../../../agent/commands/desk/controls.ts";
import { commands } from "../../../../agent/commands/desk/definitions/registry.ts";
import { openPolicy } from "../../../../agent/commands/desk/policy.ts";
import type { CommandRequest } from "../../../../agent/commands/desk/request.ts";
import { newKeyPair, readPublicKey, signatureOf } from "../../../../agent/commands/desk/signature.ts";
import type { Trust, TrustedKey } from "../../../../agent/commands/desk/trust.ts";
import { CommandBoard, freeze, lastOf, order } from "../../../support/command-desk.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const pair = newKeyPair();
const otherPair = newKeyPair();

const trusting = (limits: Partial<TrustedKey> = {}, { kid = "ops", keys = pair } = {}): Trust => ({
  isInstalled: true,
  keys: new Map([
    [
      kid,
      {
        kid,
        key: readPublicKey(keys.publicKey),
        commands: ["*"],
        scopes: ["board", "site", "fleet"],
        notAfter: undefined,
        ...limits,
      },
    ],
  ]),
  problems: [],
});

const signed = (
  request: CommandRequest,
  changes: { kid?: string; topic?: string; keys?: ReturnType<typeof newKeyPair> } = {},
): CommandRequest => {
  const { kid = "ops", topic = request.topic, keys = pair } = changes;
  return { ...request, signature: { kid, sig: signatureOf(topic, request.payload, keys.privateKey) } };
};

const raw = (payload: string | Uint8Array, changes: Partial<CommandRequest> = {}): CommandRequest =>
  order(
    { id: "ID", name: "ping" },
    { payload: typeof payload === "string" ? Buffer.from(payload) : payload, ...changes },
  );

interface Row {
  readonly why: string;
  readonly row: number;
  readonly board?: (board: CommandBoard) => void;
  readonly request: () => CommandRequest;
  /** undefined: no answer at all. */
  readonly answer: JsonRecord | undefined;
}

const nested = (levels: number): string =>
  `{"v":1,"id":"ID","name":"ping","args":${"[".repeat(levels)}${"]".repeat(levels)}}`;
const deep = Buffer.alloc(10 * 1024 * 1024, "[");

const rejected = (code: number, error: string, more: JsonRecord = {}): JsonRecord => ({
  state: "rejected",
  code,
  error,
  ...more,
});

const rows: readonly Row[] = [
  {
    row: 2,
    why: "a retained command",
    request: () => freeze({}, { retained: true }),
    answer: rejected(400, "retained-command"),
  },
  {
    row: 2,
    why: "more correlation data than is kept",
    request: () => freeze({}, { asksTooMuch: true }),
    answer: rejected(400, "correlation-too-long"),
  },
  { row: 3, why: "a name with a wildcard", request: () => raw("{}", { name: "a+b" }), answer: undefined },
  { row: 3, why: "an id with a slash", request: () => raw("{}", { id: "a/b" }), answer: undefined },
  { row: 3, why: "an id that is too long", request: () => raw("{}", { id: "a".repeat(65) }), answer: undefined },
  { row: 4, why: "an empty payload", request: () => raw(""), answer: undefined },
  {
    row: 4,
    why: "a retained command that is cleared",
    request: () => ({ ...raw(""), retained: true }),
    answer: undefined,
  },
  {
    row: 5,
    why: "bytes that are not text",
    request: () => raw(Buffer.from([0x7b, 0xff, 0x7d])),
    answer: rejected(400, "malformed"),
  },
  { row: 5, why: "half a JSON document", request: () => raw('{"v":1'), answer: rejected(400, "malformed") },
  { row: 5, why: "ten megabytes of brackets", request: () => raw(deep), answer: rejected(400, "malformed") },
  {
    row: 5,
    why: "64 KiB of brackets",
    request: () => raw(deep.subarray(0, 65_536)),
    answer: rejected(400, "malformed"),
  },
  {
    row: 5,
    why: "eleven levels",
    request: () => raw(nested(10)),
    answer: rejected(400, "malformed", { message: "nested deeper than 10 levels" }),
  },
  {
    row: 7,
    why: "ten levels, and a wrong place for them",
    request: () => raw(nested(9)),
    answer: rejected(400, "schema", { field: "/args" }),
  },
  ...[
    '{"v":1,"id":"A","name":"ping","name":"board.uncordon"}',
    '{"v":1,"id":"A","name":"ping","n\\u0061me":"board.uncordon"}',
    '{"v":1,"id":"A","name":"board.cordon","args":{"board":"edge-03","board":"edge-05"},"reason":"x"}',
  ].map((text, index) => ({
    row: 5,
    why: `a member twice, of which parsers take the first or the last one (${index})`,
    request: () => raw(text),
    answer: rejected(400, "malformed", { message: "an object has two members of the same name" }),
  })),
  { row: 5, why: "a list at the top", request: () => raw("[]"), answer: rejected(400, "malformed") },
  { row: 5, why: "null", request: () => raw("null"), answer: rejected(400, "malformed") },
  {
    row: 6,
    why: "another version",
    request: () => order({ name: "ping", more: { v: 2 } }),
    answer: rejected(426, "unsupported-version", { result: { supported: [1] } }),
  },
  {
    row: 7,
    why: "a version that is a string",
    request: () => order({ name: "ping", more: { v: "1" } }),
    answer: rejected(400, "schema", { field: "/v" }),
  },
  {
    row: 7,
    why: "no version",
    request: () => order({ name: "ping", more: { v: undefined } }),
    answer: rejected(400, "schema", { field: "/v" }),
  },
  {
    row: 7,
    why: "an unknown member",
    request: () => order({ name: "ping", more: { urgent: true } }),
    answer: rejected(400, "schema", { field: "/urgent" }),
  },
  {
    row: 7,
    why: "a member called __proto__",
    request: () => raw('{"v":1,"id":"ID","name":"ping","__proto__":{"retained":true}}'),
    answer: rejected(400, "schema", { field: "/__proto__" }),
  },
  {
    row: 7,
    why: "a time that is not UTC",
    request: () => order({ name: "ping", more: { exp: "2026-11-20T12:00:00+01:00" } }),
    answer: rejected(400, "schema", { field: "/exp" }),
  },
  {
    row: 7,
    why: "the 31st of February",
    request: () => order({ name: "ping", more: { exp: "2027-02-31T12:00:00Z" } }),
    answer: rejected(400, "schema", { field: "/exp" }),
  },
  {
    row: 7,
    why: "a counter that is a string",
    request: () => order({ name: "ping", more: { ctr: "1" } }),
    answer: rejected(400, "schema", { field: "/ctr" }),
  },
  {
    row: 7,
    why: "an unknown precondition",
    request: () => order({ name: "ping", more: { if: { weather: 1 } } }),
    answer: rejected(400, "schema", { field: "/if/weather" }),
  },
  {
    row: 7,
    why: "a change without a reason",
    request: () => freeze({ more: { reason: undefined } }),
    answer: rejected(400, "schema", { field: "/reason" }),
  },
  {
    row: 8,
    why: "an id other than the topic's",
    request: () => ({ ...order({ id: "ONE", name: "ping" }), id: "TWO" }),
    answer: rejected(400, "id-mismatch", { field: "/id", id: "TWO" }),
  },
  {
    row: 8,
    why: "a name other than the topic's",
    request: () => ({ ...order({ name: "ping" }), name: "status.get" }),
    answer: rejected(400, "id-mismatch", { field: "/name" }),
  },
  {
    row: 9,
    why: "no message expiry",
    request: () => order({ name: "ping" }, { expirySeconds: undefined }),
    answer: rejected(428, "expiry-required"),
  },
  {
    row: 9,
    why: "a message expiry of more than a day",
    request: () => freeze({}, { expirySeconds: 86_401 }),
    answer: rejected(428, "expiry-required"),
  },
  {
    row: 13,
    why: "an unknown name",
    request: () => order({ name: "eviction.melt" }),
    answer: rejected(404, "unknown-command"),
  },
  {
    row: 13,
    why: "the name constructor",
    request: () => order({ name: "constructor" }),
    answer: rejected(404, "unknown-command"),
  },
  { row: 3, why: "the name __proto__", request: () => order({ name: "__proto__" }), answer: undefined },
  {
    row: 13,
    why: "a site's command on a board's topic",
    request: () => freeze({}, { scope: "board" }),
    answer: rejected(404, "unknown-command"),
  },
  {
    row: 13,
    why: "a drain of all boards at once",
    request: () => order({ name: "board.drain", args: { timeout: 60 } }, { scope: "fleet" }),
    answer: rejected(404, "unknown-command"),
  },
  {
    row: 14,
    why: "a part of the records of one object",
    request: () => order({ name: "decisions.get", args: { about: "node/pi-3", skip: 1 } }),
    answer: rejected(422, "bad-args", { field: "/args/skip" }),
  },
  {
    row: 14,
    why: "no ttl",
    request: () => freeze({ args: {} }),
    answer: rejected(422, "bad-args", { field: "/args/ttl" }),
  },
  {
    row: 14,
    why: "a ttl that is a string",
    request: () => freeze({ args: { ttl: "3600" } }),
    answer: rejected(422, "bad-args", { field: "/args/ttl" }),
  },
  {
    row: 14,
    why: "a ttl below a minute",
    request: () => freeze({ args: { ttl: 59 } }),
    answer: rejected(422, "bad-args", { field: "/args/ttl" }),
  },
  {
    row: 14,
    why: "a ttl beyond a day",
    request: () => freeze({ args: { ttl: 86_401 } }),
    answer: rejected(422, "bad-args", { field: "/args/ttl" }),
  },
  {
    row: 14,
    why: "a zone without a name",
    request: () => freeze({ args: { scope: "zone", ttl: 60 } }),
    answer: rejected(422, "bad-args", { field: "/args/target" }),
  },
  {
    row: 14,
    why: "an unknown argument",
    request: () => freeze({ args: { ttl: 60, force: true } }),
    answer: rejected(422, "bad-args", { field: "/args/force" }),
  },
  {
    row: 14,
    why: "debug for more than an hour",
    request: () => order({ name: "log.level", args: { level: "debug", ttl: 3601 } }),
    answer: rejected(422, "bad-args", { field: "/args/ttl" }),
  },
  {
    row: 14,
    why: "no board to cordon",
    request: () => order({ name: "board.cordon" }, { scope: "site" }),
    answer: rejected(422, "bad-args", { field: "/args/board" }),
  },
  {
    row: 15,
    why: "no signature",
    board: (board) => {
      board.trust = trusting();
    },
    request: () => freeze(),
    answer: rejected(401, "signature-missing"),
  },
  {
    row: 15,
    why: "a key that is not installed",
    board: (board) => {
      board.trust = trusting();
    },
    request: () => signed(freeze({ more: { ctr: 1 } }), { kid: "stranger" }),
    answer: rejected(401, "signature-unknown-key"),
  },
  {
    row: 15,
    why: "a signature of another topic",
    board: (board) => {
      board.trust = trusting();
    },
    request: () => signed(freeze({ more: { ctr: 1 } }), { topic: "sw1/acme/plant8/_site/cmd/eviction.freeze/X" }),
    answer: rejected(401, "signature-invalid"),
  },
  {
    row: 7,
    why: "a signature without an end",
    board: (board) => {
      board.trust = trusting();
    },
    request: () => signed(freeze()),
    answer: rejected(400, "schema", { field: "/exp" }),
  },
  {
    row: 16,
    why: "a key for other commands",
    board: (board) => {
      board.trust = trusting({ commands: ["board.*"] });
    },
    request: () => signed(freeze({ more: { ctr: 1 } })),
    answer: rejected(403, "forbidden"),
  },
  {
    row: 16,
    why: "a key for boards only",
    board: (board) => {
      board.trust = trusting({ scopes: ["board"] });
    },
    request: () => signed(freeze({ more: { ctr: 1 } })),
    answer: rejected(403, "forbidden"),
  },
  {
    row: 16,
    why: "a key that has expired",
    board: (board) => {
      board.trust = trusting({ notAfter: Date.parse("2026-11-19T00:00:00Z") });
    },
    request: () => signed(freeze({ more: { ctr: 1 } })),
    answer: rejected(403, "forbidden"),
  },
  {
    row: 16,
    why: "a command that the board's owner disabled",
    board: (board) => {
      board.policy = { ...openPolicy, disabled: ["eviction.*"] };
    },
    request: () => freeze(),
    answer: rejected(403, "forbidden"),
  },
  {
    row: 16,
    why: "a change under a policy that cannot be read",
    board: (board) => {
      board.policy = { ...openPolicy, problem: "line 3" };
    },
    request: () => freeze(),
    answer: rejected(403, "forbidden"),
  },
  {
    row: 18,
    why: "an expiry that has passed",
    request: () => freeze({ more: { exp: "2026-11-20T11:58:59Z" } }),
    answer: { state: "expired", code: 408, error: "expired" },
  },
  {
    row: 18,
    why: "a message that has expired",
    request: () => freeze({}, { expirySeconds: 0 }),
    answer: { state: "expired", code: 408, error: "expired" },
  },
  {
    row: 18,
    why: "an expiry too late to remember the id until then",
    request: () => freeze({ more: { exp: "2026-11-22T12:00:00Z" } }),
    answer: rejected(400, "schema", { field: "/exp" }),
  },
  {
    row: 19,
    why: "a change while the board does not know the time",
    board: (board) => {
      board.isSynced = false;
    },
    request: () => freeze(),
    answer: rejected(412, "clock-unsynced", { clock: "unsynced" }),
  },
  {
    row: 20,
    why: "a site's command to a follower",
    board: (board) => {
      board.standing = { isLeader: false, leader: "edge-05", term: 18 };
    },
    request: () => freeze(),
    answer: rejected(421, "not-leader", { result: { leader: "edge-05", term: 18 } }),
  },
  {
    row: 20,
    why: "a site's command to a board whose term is over, before the next term",
    board: (board) => {
      board.standing = { isLeader: false, leader: "edge-02", term: 17 };
    },
    request: () => freeze(),
    answer: rejected(421, "not-leader", { result: { leader: undefined, term: 17 } }),
  },
  {
    row: 20,
    why: "a site's command that another leader may have executed",
    request: () => freeze({}, { isLate: true }),
    answer: rejected(421, "not-leader", { result: { leader: "edge-02", term: 17 } }),
  },
  {
    row: 21,
    why: "another term",
    request: () => freeze({ more: { if: { term: 16 } } }),
    answer: rejected(409, "precondition-failed", {
      field: "/if/term",
      result: { term: 17, configVersion: 42, bootId: "boot-1" },
    }),
  },
  {
    row: 21,
    why: "another boot",
    request: () => order({ name: "journal.compact", more: { if: { bootId: "boot-0" } } }),
    answer: rejected(409, "precondition-failed", { field: "/if/bootId" }),
  },
  {
    row: 21,
    why: "another configuration",
    request: () => order({ name: "journal.compact", more: { if: { configVersion: 41 } } }),
    answer: rejected(409, "precondition-failed", { field: "/if/configVersion" }),
  },
  {
    row: 23,
    why: "a disk that cannot be written",
    board: (board) => {
      board.obstacle = "less than 1 MiB is left";
    },
    request: () => freeze(),
    answer: rejected(507, "journal-unavailable"),
  },
];

test.each(rows)("row $row: $why", async ({ board: prepare, request, answer }) => {
  const board = new CommandBoard();
  prepare?.(board);
  const desk = board.start();
  const taken = await desk.take(request());
  const last = await lastOf(taken);
  if (answer === undefined) expect(taken).toBe("no answer");
  else expect(last).toMatchObject(answer);
  expect(board.effects).toEqual([]);
  expect(board.database.prepare("SELECT count(*) AS rows FROM commands").get()).toEqual({ rows: 0 });
  const { rejected: counted } = desk.counts.view();
  const label = answer ?? { code: 0, error: expect.any(String) };
  expect(counted).toEqual([{ code: label.code, error: label.error, count: 1 }]);
});

// The rows are those of docs/interfaces.md#order-of-checks.
test("order of checks, row 10: an issuer may send ten commands in a burst and then one a second, and is notified once a second", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const ask = async () => await lastOf(await desk.take(order({ name: "ping" })));
  for (let n = 0; n < 10; n++) expect(await ask()).toMatchObject({ state: "succeeded" });
  expect(await ask()).toMatchObject({ ...rejected(429, "rate-limited"), retryAfterMs: 1000 });
  expect(await ask()).toBeUndefined();
  expect(await lastOf(await desk.take(order({ name: "ping", more: { by: "ops:bob" } })))).toMatchObject({ code: 200 });
  await board.clock.advance("1s");
  expect(await ask()).toMatchObject({ code: 200 });
});

test("order of checks, row 10: five changes pass in a burst, and then one every ten seconds", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  for (let n = 0; n < 5; n++) expect(await lastOf(await desk.take(freeze()))).toMatchObject({ state: "succeeded" });
  expect(await lastOf(await desk.take(freeze()))).toMatchObject({ code: 429, retryAfterMs: 10_000 });
  await board.clock.advance("9s");
  expect(await lastOf(await desk.take(freeze()))).toMatchObject({ code: 429, retryAfterMs: 1000 });
  await board.clock.advance("1s");
  expect(await lastOf(await desk.take(freeze()))).toMatchObject({ code: 200 });
});

test("order of checks, row 10: the board answers sixty a minute, regardless of the names that issuers use", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const ask = async (n: number) => await lastOf(await desk.take(order({ name: "ping", more: { by: `bot-${n}` } })));
  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ask(n)));
  expect(answers.filter((answer) => answer?.code === 200)).toHaveLength(60);
  expect(answers.filter((answer) => answer?.code === 429)).toHaveLength(1);
});

test("unreadable commands get at most thirty answers in a burst", async () => {
  const desk = new CommandBoard().start();
  const answers = await Promise.all(Array.from({ length: 100 }, () => desk.take(raw("{"))));
  expect(answers.filter((taken) => taken !== "no answer")).toHaveLength(30);
  expect(desk.counts.view().rejected).toEqual([{ code: 400, error: "malformed", count: 100 }]);
});

test("each kind of refusal is logged once a minute", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  for (let n = 0; n < 20; n++) await desk.take(raw("{"));
  await desk.take(raw("[]"));
  expect(board.log.said("warn")).toEqual(["command refused"]);
  await board.clock.advance("61s");
  await desk.take(raw("{"));
  expect(board.log.said("warn")).toHaveLength(2);
});

test("order of checks, row 11: the same command again gets the same answer, without a second effect", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const first = await lastOf(await desk.take(freeze({ id: "TWICE" })));
  await board.clock.advance("20s");
  const second = await lastOf(await desk.take(freeze({ id: "TWICE" })));
  expect(second).toEqual({ ...first, replayed: true });
  expect(board.effects).toEqual(["freeze site 3600000"]);
  expect(desk.counts.view().replayed).toBe(1);
});

test("order of checks, row 11: a repeated read is answered from memory", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const first = await lastOf(await desk.take(order({ id: "P", name: "ping" })));
  await board.clock.advance("20s");
  expect(await lastOf(await desk.take(order({ id: "P", name: "ping" })))).toEqual({ ...first, replayed: true });
  const other = await lastOf(await desk.take(order({ id: "P", name: "ping", args: { echo: "x" } })));
  expect(other).toMatchObject({ code: 200, result: { echo: "x" } });
});

test("order of checks, row 12: a read does not use up its id, so whoever guesses the id of a change cannot block it", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  await desk.take(order({ id: "GUESSED", name: "ping" }));
  expect(await lastOf(await desk.take(freeze({ id: "GUESSED" })))).toMatchObject({ code: 200 });
  expect(board.effects).toEqual(["freeze site 3600000"]);
});

test("order of checks, row 12: a reused id with another body is refused, and the first answer is kept", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const first = await lastOf(await desk.take(freeze({ id: "TWICE" })));
  expect(await lastOf(await desk.take(freeze({ id: "TWICE", args: { ttl: 60 } })))).toMatchObject(
    rejected(409, "id-reused"),
  );
  expect(await lastOf(await desk.take(freeze({ id: "TWICE" })))).toMatchObject({ code: first?.code, replayed: true });
  expect(board.effects).toHaveLength(1);
});

test("order of checks, row 11: a refused command stays refused when it is delivered again, even if the reason no longer applies", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  board.standing = { isLeader: false, leader: "edge-05", term: 18 };
  const first = await lastOf(await desk.take(freeze({ id: "LATE" })));
  expect(first).toMatchObject(rejected(421, "not-leader"));
  board.standing = { isLeader: true, leader: "edge-02", term: 19 };
  await board.clock.advance("20s");
  expect(await lastOf(await desk.take(freeze({ id: "LATE" })))).toEqual({ ...first, replayed: true });
  board.obstacle = "the disk is full";
  const second = await lastOf(await desk.take(freeze({ id: "FULL" })));
  board.obstacle = undefined;
  expect(await lastOf(await desk.take(freeze({ id: "FULL" })))).toEqual({ ...second, replayed: true });
  expect(board.effects).toEqual([]);
  // A slip in the arguments does not use the id up.
  expect(await lastOf(await desk.take(freeze({ id: "SLIP", args: { ttl: -1 } })))).toMatchObject({ code: 422 });
  expect(await lastOf(await desk.take(freeze({ id: "SLIP" })))).toMatchObject({ state: "succeeded" });
});

test("a command that came too fast, or without its signature, may be sent again with the same id", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  for (let n = 0; n < 5; n++) await desk.take(freeze({ id: `FAST-${n}` }));
  expect(await lastOf(await desk.take(freeze({ id: "FAST" })))).toMatchObject(rejected(429, "rate-limited"));
  await board.clock.advance("1m");
  expect(await lastOf(await desk.take(freeze({ id: "FAST" })))).toMatchObject({ state: "succeeded" });
  board.trust = trusting();
  const request = freeze({ id: "BARE", more: { ctr: 1 } });
  expect(await lastOf(await desk.take(request))).toMatchObject(rejected(401, "signature-missing"));
  expect(await lastOf(await desk.take(signed(request)))).toMatchObject({ state: "succeeded" });
});

test("endless refusals take no more memory than their bound", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const refused = (n: number): Promise<unknown> =>
    desk.take(order({ id: `N-${n}`, name: "no.such" }, { origin: "local" })).then(lastOf);
  for (let n = 0; n < 1000; n++) await refused(n);
  expect(await refused(999)).toMatchObject({ code: 404, replayed: true });
  expect(await refused(0)).not.toHaveProperty("replayed");
});

test("order of checks, row 17: a key that replaces another one has its own counter, and a key under two names has a single counter", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const give = async (ctr: number, by: { kid?: string; keys?: typeof pair } = {}) => {
    board.trust = trusting({}, by);
    await board.clock.advance("10s");
    return await lastOf(await desk.take(signed(freeze({ more: { ctr } }), by)));
  };
  expect(await give(4021)).toMatchObject({ state: "succeeded" });
  expect(await give(1, { keys: otherPair })).toMatchObject({ state: "succeeded" });
  expect(await give(1, { keys: otherPair })).toMatchObject(rejected(409, "stale-counter"));
  expect(await give(4021)).toMatchObject(rejected(409, "stale-counter"));
  expect(await give(4021, { kid: "night" })).toMatchObject(rejected(409, "stale-counter"));
  expect(await give(4022, { kid: "night" })).toMatchObject({ state: "succeeded" });
});

test("rows 15 to 17: a signed command takes effect, and its counter can only rise", async () => {
  const board = new CommandBoard();
  board.trust = trusting();
  const desk = board.start();
  const give = async (ctr: number) => await lastOf(await desk.take(signed(freeze({ more: { ctr } }))));
  expect(await give(4021)).toMatchObject({ state: "succeeded" });
  expect(await give(4021)).toMatchObject(rejected(409, "stale-counter"));
  expect(await give(4020)).toMatchObject(rejected(409, "stale-counter"));
  expect(await give(4022)).toMatchObject({ state: "succeeded" });
  const next = board.start();
  expect(await lastOf(await next.take(signed(freeze({ more: { ctr: 4022 } }))))).toMatchObject(
    rejected(409, "stale-counter"),
  );
});

test("order of checks, row 15: a command recorded on one board is invalid on another one's topic", async () => {
  const board = new CommandBoard();
  board.trust = trusting();
  const desk = board.start();
  const there = signed(
    order({ name: "journal.compact", more: { ctr: 7 } }, { topic: "sw1/acme/plant7/edge-01/cmd/journal.compact/X" }),
  );
  const here = { ...there, topic: `sw1/acme/plant7/edge-02/cmd/journal.compact/${there.id}` };
  expect(await lastOf(await desk.take(here))).toMatchObject(rejected(401, "signature-invalid"));
  const changed = { ...there, payload: Buffer.from(Buffer.from(there.payload).toString().replace("alice", "mallo")) };
  expect(await lastOf(await desk.take(changed))).toMatchObject(rejected(401, "signature-invalid"));
  expect(await lastOf(await desk.take(there))).toMatchObject({ state: "succeeded" });
});

test("order of checks, row 15: reads and local commands need no signature, but a local change needs a reason", async () => {
  const board = new CommandBoard();
  board.trust = trusting();
  const desk = board.start();
  expect(await lastOf(await desk.take(order({ name: "ping" })))).toMatchObject({ code: 200 });
  const local = { origin: "local", expirySeconds: undefined, author: "local:1000" } as const;
  expect(await lastOf(await desk.take(freeze({}, local)))).toMatchObject({ code: 200 });
  expect(await lastOf(await desk.take(freeze({ more: { reason: undefined } }, local)))).toMatchObject({
    ...rejected(400, "schema"),
    field: "/reason",
  });
});

test("order of checks, row 19: without a synchronised clock a board accepts reads and signed commands with a counter, regardless of their expiry", async () => {
  const board = new CommandBoard();
  board.isSynced = false;
  board.clock.setWall("1970-01-01T00:00:30Z");
  board.trust = trusting();
  const desk = board.start();
  expect(await lastOf(await desk.take(order({ name: "status.get" })))).toMatchObject({ code: 200, clock: "unsynced" });
  const ended = { exp: "2026-11-20T12:05:00Z" };
  const cordon = order({ name: "board.cordon", more: ended });
  expect(await lastOf(await desk.take(signed(cordon)))).toMatchObject(rejected(412, "clock-unsynced"));
  expect(await lastOf(await desk.take(signed(freeze({ more: { ...ended, ctr: 1 } }))))).toMatchObject({ code: 200 });
  const quiet = { name: "log.level", args: { level: "warn", ttl: 60 }, more: ended };
  expect(await lastOf(await desk.take(signed(order(quiet))))).toMatchObject({ code: 412 });
});

test("order of checks, row 18: sixty seconds of difference between the clocks are allowed", async () => {
  const desk = new CommandBoard().start();
  expect(await lastOf(await desk.take(freeze({ more: { exp: "2026-11-20T11:59:00Z" } })))).toMatchObject({ code: 200 });
});

test("order of checks, row 22: a second drain is refused with the id of the first, but a dry run of it is not refused", async () => {
  const board = new CommandBoard();
  board.effect = (_, { signal }) =>
    new Promise((resolve) => signal?.addEventListener("abort", () => resolve({ outcome: "done", result: {} })));
  const desk = board.start();
  const drain = (id: string, more = {}) => order({ id, name: "board.drain", args: { timeout: 600 }, more });
  await desk.take(drain("D1"));
  expect(await lastOf(await desk.take(drain("D2")))).toMatchObject({
    ...rejected(409, "busy"),
    result: { runningId: "D1" },
  });
  expect(await lastOf(await desk.take(drain("D3", { dryRun: true })))).toMatchObject({
    code: 200,
    result: { plan: "drain" },
  });
});

test("order of checks, row 23: reads still work if nothing can be stored", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  board.atWrite = () => {
    throw new Error("disk I/O error");
  };
  expect(await lastOf(await desk.take(freeze()))).toMatchObject(rejected(507, "journal-unavailable"));
  expect(await lastOf(await desk.take(order({ name: "ping" })))).toMatchObject({ code: 200 });
  expect(board.effects).toEqual([]);
});

test("order of checks, row 24: an agent that stops accepts no more commands", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  await board.stop();
  expect(await lastOf(await desk.take(freeze()))).toMatchObject(rejected(503, "stopping"));
  board.obstacle = "the disk is full";
  expect(await lastOf(await desk.take(freeze()))).toMatchObject(rejected(507, "journal-unavailable"));
});

test("order of checks, row 25: the answer to an operation that throws has no stack trace", async () => {
  const board = new CommandBoard();
  board.effect = () => Promise.reject(new TypeError("Cannot read properties of undefined"));
  const desk = board.start();
  const answer = await lastOf(await desk.take(freeze()));
  expect(answer).toMatchObject({ state: "failed", code: 500, error: "internal" });
  expect(JSON.stringify(answer)).not.toContain(".ts");
  expect(desk.counts.view().rejected).toEqual([{ code: 500, error: "internal", count: 1 }]);
  expect(board.log.said("error")).toEqual(["a command failed"]);
});

test("order of checks, row 26: a command that takes too long fails, and reports its progress", async () => {
  const board = new CommandBoard();
  board.effect = (_, { progress }) => {
    progress?.({ evicted: 3 });
    return new Promise(() => undefined);
  };
  const desk = board.start();
  const answer = lastOf(await desk.take(order({ name: "board.drain", args: { timeout: 60 } })));
  await board.clock.advance("91s");
  expect(await answer).toMatchObject({ state: "failed", code: 504, error: "timeout", result: { evicted: 3 } });
});

const changes = [
  ["leader.step-down", {}],
  ["controllers.pause", { controller: "pod-gc", ttl: 60 }],
  ["controllers.resume", { controller: "pod-gc" }],
  ["eviction.freeze", { ttl: 60 }],
  ["eviction.thaw", {}],
  ["valve.release", { ttl: 60 }],
  ["valve.rearm", {}],
  ["zone.confirm-dead", { zone: "a", ttl: 60 }],
  ["zone.unconfirm-dead", { zone: "a" }],
  ["board.confirm-dead", { board: "edge-05" }],
  ["board.cordon", { board: "edge-05" }],
  ["board.uncordon", { board: "edge-05" }],
] as const;

test("order of checks, row 26: these are all commands that change the site", () => {
  const all = [...commands.values()].filter((one) => one.scopes.includes("site") && one.class !== "read");
  expect(all.map(({ name }) => name).filter((name) => name !== "cmd.cancel")).toEqual(changes.map(([name]) => name));
});

test.each(changes)(
  "order of checks, row 26: once %s has failed by its time limit, it may send nothing more",
  async (name, args) => {
    const board = new CommandBoard();
    const signals: (AbortSignal | undefined)[] = [];
    const effect = Promise.withResolvers<Effect>();
    board.effect = (_, { signal }) => {
      signals.push(signal);
      return effect.promise;
    };
    const answer = lastOf(await board.start().take(order({ name, args }, { scope: "site" })));
    await board.clock.advance("59s");
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    await board.clock.advance("1s");
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    expect(await answer).toMatchObject({ code: 504, message: expect.stringContaining("may still take effect") });
    // A write that had been sent took effect.
    effect.resolve({ outcome: "done", result: {} });
    await board.clock.advance("1s");
    expect(board.log.said("warn")).toEqual(["a command took effect after its time limit"]);
  },
);

test("regardless of which bytes arrive, the agent continues and answers at most once", async () => {
  const board = new CommandBoard();
  const desk = board.start();
  const random = new SeededRandom(5);
  const good = Buffer.from(
    JSON.stringify({ v: 1, id: "ID", name: "eviction.freeze", args: { ttl: 600 }, reason: "x" }),
  );
  const said = new Set<unknown>();
  for (let n = 0; n < 3000; n++) {
    const bytes = Buffer.from(good);
    for (let change = random.integer(4) + 1; change > 0; change--)
      bytes[random.integer(bytes.length)] = random.integer(256);
    const cut = random.integer(3) === 0 ? bytes.subarray(0, random.integer(bytes.length)) : bytes;
    const local = { origin: "local", author: "local:0", expirySeconds: undefined, payload: cut } as const;
    const answer = await lastOf(await desk.take(freeze({ id: `ID` }, { ...local, retained: false })));
    said.add(answer?.error ?? answer?.state);
  }
  expect(said).toContain("malformed");
  expect(said).toContain("schema");
  expect(board.log.said("error")).toEqual([]);
});
