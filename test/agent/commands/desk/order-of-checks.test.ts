import { expect, test } from "vitest";
import { openPolicy } from "../../../../agent/commands/desk/policy.ts";
import type { CommandRequest } from "../../../../agent/commands/desk/request.ts";
import { newKeyPair, readPublicKey, signatureOf } from "../../../../agent/commands/desk/signature.ts";
import { CommandBoard, lastOf } from "../../../support/command-desk.ts";

interface Draft {
  readonly board: CommandBoard;
  readonly envelope: Record<string, unknown>;
  request: CommandRequest;
}

interface Fault {
  readonly row: number;
  readonly error: string;
  readonly make: (draft: Draft) => void;
}

const key = readPublicKey(newKeyPair().publicKey);

/**
 * One way to be wrong for each row that looks at a single command, in the order of docs/interfaces.md#order-of-checks.
 */
const faults: readonly Fault[] = [
  { row: 2, error: "retained-command", make: (draft) => change(draft, { retained: true }) },
  { row: 5, error: "malformed", make: ({ envelope }) => set(envelope, "deep", nested(12)) },
  { row: 6, error: "unsupported-version", make: ({ envelope }) => set(envelope, "v", 2) },
  { row: 7, error: "schema", make: ({ envelope }) => set(envelope, "urgent", true) },
  { row: 8, error: "id-mismatch", make: ({ envelope }) => set(envelope, "id", "OTHER") },
  { row: 9, error: "expiry-required", make: (draft) => change(draft, { expirySeconds: undefined }) },
  { row: 14, error: "bad-args", make: ({ envelope }) => set(envelope, "args", { timeout: 1 }) },
  {
    row: 15,
    error: "signature-missing",
    make: ({ board }) => {
      const limits = { commands: ["*"], scopes: ["board"], notAfter: undefined } as const;
      board.trust = { isInstalled: true, keys: new Map([["ops", { kid: "ops", key, ...limits }]]), problems: [] };
    },
  },
  {
    row: 16,
    error: "forbidden",
    make: ({ board }) => Object.assign(board, { policy: { ...openPolicy, disabled: ["board.drain"] } }),
  },
  { row: 18, error: "expired", make: ({ envelope }) => set(envelope, "exp", "2026-11-20T10:00:00Z") },
  { row: 19, error: "clock-unsynced", make: ({ board }) => Object.assign(board, { isSynced: false }) },
  { row: 21, error: "precondition-failed", make: ({ envelope }) => set(envelope, "if", { term: 3 }) },
  { row: 22, error: "busy", make: ({ board }) => Object.assign(board, { isDraining: true }) },
  {
    row: 23,
    error: "journal-unavailable",
    make: ({ board }) => Object.assign(board, { obstacle: "the disk is full" }),
  },
];

const set = (envelope: Record<string, unknown>, name: string, value: unknown): void => {
  envelope[name] = value;
};

const change = (draft: Draft, changes: Partial<CommandRequest>): void => {
  draft.request = { ...draft.request, ...changes };
};

const nested = (levels: number): unknown => (levels === 0 ? {} : { deeper: nested(levels - 1) });

async function answerTo(wrong: readonly Fault[]): Promise<unknown> {
  const board = new CommandBoard();
  board.effect = () => new Promise(() => undefined);
  const envelope = { v: 1, id: "D", name: "board.drain", args: { timeout: 60 }, by: "ops:alice", reason: "a test" };
  const request: CommandRequest = {
    ...{
      origin: "mqtt",
      scope: "board",
      topic: "sw1/acme/plant7/edge-02/cmd/board.drain/D",
      name: "board.drain",
      id: "D",
    },
    ...{ payload: Buffer.from("{}"), retained: false, expirySeconds: 300 },
  };
  const draft: Draft = { board, envelope, request };
  const desk = board.start();
  if (wrong.some(({ error }) => error === "busy")) {
    await desk.take({ ...request, id: "FIRST", payload: Buffer.from(JSON.stringify({ ...envelope, id: "FIRST" })) });
  }
  for (const { make } of wrong) make(draft);
  const taken = await desk.take({ ...draft.request, payload: Buffer.from(JSON.stringify(envelope)) });
  return taken === "no answer" ? taken : (taken.answer.body.error ?? taken.answer.body.state);
}

test("a command with nothing wrong is accepted", async () => {
  expect(await answerTo([])).toBe("accepted");
});

/** A board that does not know the time cannot find that a command's has passed. */
const exclude = (first: Fault, second: Fault): boolean =>
  first.error === "expired" && second.error === "clock-unsynced";

test.each(faults.map((first) => [first.row, first.error, first] as const))(
  "row %i (%s) answers before every later row",
  async (_row, error, first) => {
    expect(await answerTo([first])).toBe(error);
    for (const second of faults.slice(faults.indexOf(first) + 1)) {
      if (exclude(first, second)) continue;
      expect(await answerTo([first, second]), `with ${second.error}`).toBe(error);
    }
  },
);

test("row 20 answers after 18 and 19, and before 21 to 23", async () => {
  const board = new CommandBoard();
  board.standing = { isLeader: false, leader: "edge-05", term: 18 };
  board.obstacle = "the disk is full";
  const desk = board.start();
  const ask = async (id: string, more: object) => {
    const text = JSON.stringify({ v: 1, id, name: "eviction.thaw", reason: "a test", ...more });
    const topic = `sw1/acme/plant7/_site/cmd/eviction.thaw/${id}`;
    const request = {
      origin: "mqtt",
      scope: "site",
      topic,
      name: "eviction.thaw",
      id,
      retained: false,
      expirySeconds: 60,
    } as const;
    return (await lastOf(await desk.take({ ...request, payload: Buffer.from(text) })))?.error;
  };
  expect(await ask("A", { if: { term: 3 } })).toBe("not-leader");
  expect(await ask("B", { exp: "2026-11-20T10:00:00Z" })).toBe("expired");
  board.isSynced = false;
  expect(await ask("C", {})).toBe("clock-unsynced");
});

test("row 16 answers before 17, 17 before 18, and 18 before 19", async () => {
  const board = new CommandBoard();
  const pair = newKeyPair();
  const trusted = {
    kid: "ops",
    key: readPublicKey(pair.publicKey),
    scopes: ["site", "board"],
    notAfter: undefined,
  } as const;
  const trust = (...commands: string[]) => {
    board.trust = { isInstalled: true, keys: new Map([["ops", { ...trusted, commands }]]), problems: [] };
  };
  const desk = board.start();
  const give = async (id: string, more: object, changes: Partial<CommandRequest> = {}) => {
    // What is signed for a site without a number is refused before all of these.
    const [name, scope] = "ctr" in more ? (["eviction.thaw", "site"] as const) : (["board.cordon", "board"] as const);
    const payload = Buffer.from(JSON.stringify({ v: 1, id, name, reason: "a test", ...more }));
    const topic = `sw1/acme/plant7/${scope === "site" ? "_site" : "edge-02"}/cmd/${name}/${id}`;
    const signature = { kid: "ops", sig: signatureOf(topic, payload, pair.privateKey) };
    const request = { origin: "mqtt", scope, topic, name, id, retained: false } as const;
    const answer = await lastOf(await desk.take({ ...request, payload, signature, expirySeconds: 60, ...changes }));
    return answer?.error ?? answer?.state;
  };
  trust("eviction.*");
  expect(await give("A", { ctr: 5 })).toBe("succeeded");
  expect(await give("B", { ctr: 5, exp: "2026-11-20T10:00:00Z" })).toBe("stale-counter");
  trust("board.*");
  expect(await give("C", { ctr: 5 })).toBe("forbidden");
  trust("*");
  board.isSynced = false;
  expect(await give("D", { exp: "2026-11-20T13:00:00Z" }, { expirySeconds: 0 })).toBe("expired");
  expect(await give("E", { exp: "2026-11-20T13:00:00Z" })).toBe("clock-unsynced");
});
