import { count, list, maybe, record, type TypeOf, text, word, yesNo } from "./shape.ts";

/** Changes are additive only; what cannot be said additively gets the next number. Readers ignore what they do not know. */
export const statusSchema = "siteward.status/1";

export type Severity = "critical" | "warning" | "info";
export type Level = "ok" | "degraded" | "critical";

const condition = record({
  type: text,
  /** Where there may be several of a type: the one that it is about. */
  subject: maybe(text),
  /** Always true: a condition that is over is no longer listed. */
  status: yesNo,
  severity: word<Severity>(),
  since: text,
  message: text,
  /** The next step, where a person can take one. */
  hint: maybe(text),
});

const leader = record({
  role: word<"leader" | "standby">(),
  /** The board that leads; left out while nobody is known to. */
  holder: maybe(text),
  term: count,
  since: maybe(text),
  leaseAgeMs: maybe(count),
  leaseDurationMs: count,
  renewP95Ms: maybe(count),
  missedRenewals: maybe(count),
  /** How the last term of this board ended, while it does not lead. */
  ended: maybe(record({ at: text, why: text })),
});

const api = record({
  state: word<"starting" | "up" | "down">(),
  server: maybe(text),
  since: text,
  rttP50Ms: maybe(count),
  rttP95Ms: maybe(count),
  /** Requests of the last hour, and those of them that had no answer. */
  requests1h: maybe(count),
  failed1h: maybe(count),
  lastError: maybe(text),
  /** The last outage that is over, and the most boards and pods that it held back at one time. */
  lastOutage: maybe(record({ number: count, from: text, to: text, boardsHeld: count, podsHeld: count })),
  watch: record({ open: count, restarts: count, restarts1h: maybe(count), lastRelist: maybe(text) }),
});

const mqtt = record({
  state: word<"starting" | "up" | "down">(),
  server: maybe(text),
  since: text,
  session: count,
  rttMs: maybe(count),
  outbox: record({ state: count, response: count, event: count, oldestMs: maybe(count) }),
  dropped: count,
  lastError: maybe(text),
});

const watch = record({
  resource: text,
  state: word<"live" | "syncing" | "silent" | "failing" | "off">(),
  objects: count,
  heardMs: maybe(count),
  /** How often the collection was listed, and how often its watch was opened again. */
  lists: count,
  restarts: count,
  /** Objects that the API sent and that could not be used, and why: the last few sentences. */
  rejected: count,
  rejectedWhy: list(text),
});

const traffic = record({
  resource: text,
  verb: text,
  requests: count,
  sentBytes: count,
  receivedBytes: count,
});

const zone = record({
  name: text,
  state: text,
  nodes: count,
  ready: count,
  /** Boards per second that may be evicted; 0 also while the zone is frozen. */
  rate: count,
  frozenUntil: maybe(text),
});

const freeze = record({
  scope: word<"site" | "zone" | "board">(),
  target: maybe(text),
  until: text,
  by: text,
  reason: maybe(text),
});

const pause = record({ controller: text, until: text, by: text, reason: maybe(text) });

const confirmed = record({ target: maybe(text), until: text, by: text, reason: maybe(text) });

const named = record({ count, some: list(record({ name: text, since: text, neverHeard: maybe(yesNo) })) });

const boards = record({
  /** Boards that are silent beyond their grace period. */
  lost: named,
  /** Silent as well, but cordoned: an operator took them out of use. */
  off: named,
  /** Boards that are heard while their Ready condition is not True. */
  notReady: named,
  /** Boards that carry a NoExecute taint of ours. */
  tainted: count,
});

const judgement = record({
  /** So old is what is said of boards and zones. */
  ageMs: maybe(count),
  /** Silent boards whose conditions in the API do not say so yet. */
  unwritten: count,
});

const eviction = record({
  /** Boards that wait for their NoExecute taint. */
  queue: count,
  /** Those of them whose turn is held back. */
  queueHeld: maybe(count),
  /** Pods whose toleration time is running. */
  pending: count,
  /** Pods whose toleration time is over and that are still there: their eviction is held, or did not go through. */
  due: maybe(count),
  /** Pods evicted in the last hour. */
  evicted1h: maybe(count),
  /** The harmful acts of this process, each kind by itself. */
  acts: maybe(list(record({ act: text, lastHour: count, total: count }))),
  oldestMs: maybe(count),
  /** Why nothing harmful is done at present. */
  held: maybe(text),
  /** What an operator froze. */
  frozen: maybe(list(freeze)),
});

const controller = record({
  name: text,
  state: word<"running" | "standby" | "off" | "failing" | "paused">(),
  queue: count,
  syncP95Ms: maybe(count),
  errors1h: maybe(count),
  lastError: maybe(text),
  /** Of a pause. */
  until: maybe(text),
  by: maybe(text),
  reason: maybe(text),
});

const journal = record({
  path: text,
  depth: count,
  dbBytes: count,
  walBytes: count,
  lastCommitMs: maybe(count),
  fsyncP95Ms: maybe(count),
  persistence: maybe(word<"persistent" | "volatile">()),
  /** Written within the last day, or since the process began: within writtenSpanMs. */
  writtenBytes24h: maybe(count),
  writtenSpanMs: maybe(count),
});

const memory = record({
  rssBytes: maybe(count),
  anonymousBytes: maybe(count),
  peakBytes: maybe(count),
  heapUsedBytes: count,
  softBytes: maybe(count),
  hardBytes: maybe(count),
  cgroup: maybe(word<"on" | "off">()),
  psiSome10: maybe(count),
});

const board = record({
  model: maybe(text),
  compatible: maybe(text),
  ramBytes: maybe(count),
  tempC: maybe(count),
  tempZone: maybe(text),
  throttled: maybe(record({ now: list(text), sinceBoot: list(text) })),
  storage: maybe(
    record({
      dev: maybe(text),
      kind: maybe(text),
      /** Share of the expected life that is used up, 0 to 1. */
      wear: maybe(count),
      freeBytes: maybe(count),
      readOnly: yesNo,
    }),
  ),
  rails: maybe(list(record({ label: text, milliwatts: count }))),
  ioPsiSome10: maybe(count),
  loadavg1: maybe(count),
});

const command = record({ id: text, name: text, state: text, at: text, by: maybe(text), reason: maybe(text) });

const ending = record({ cause: text, message: maybe(text) });

/** What status.json holds. Parts that the program does not have yet are left out. */
export const status = record({
  schema: text,
  writtenAt: text,
  /** The board's boot clock at the time of writing: ages are measured with it, whatever the wall clock does. */
  writtenBootMs: count,
  staleAfterMs: count,
  bootId: text,
  invocationId: maybe(text),
  pid: count,
  version: text,
  startedAt: text,
  /** How often the file could not be written since the start. */
  writeFailures: count,
  /** Why this process ends, and how the former one did. */
  ending: maybe(ending),
  previous: maybe(ending),
  health: record({ level: word<Level>(), ready: yesNo, conditions: list(condition) }),
  identity: record({ site: text, board: text, node: text, profile: maybe(text), fleet: maybe(text) }),
  clock: maybe(record({ state: word<"synced" | "unsynced">(), source: maybe(text), apiSkewMs: maybe(count) })),
  leader: maybe(leader),
  link: maybe(record({ api, mqtt: maybe(mqtt) })),
  watches: maybe(list(watch)),
  traffic: maybe(list(traffic)),
  zones: maybe(list(zone)),
  boards: maybe(boards),
  judgement: maybe(judgement),
  eviction: maybe(eviction),
  controllers: maybe(list(controller)),
  journal: maybe(journal),
  memory: maybe(memory),
  board: maybe(board),
  config: maybe(
    record({
      files: list(text),
      warnings: list(text),
      desiredVersion: maybe(count),
      appliedVersion: maybe(count),
      state: maybe(text),
    }),
  ),
  holds: maybe(
    record({
      freezes: list(freeze),
      pauses: list(pause),
      confirmed: list(confirmed),
      /** Quiet hours: nothing is evicted until then. */
      quietUntil: maybe(text),
    }),
  ),
  commands: maybe(list(command)),
});

export type Status = TypeOf<typeof status>;
export type Condition = TypeOf<typeof condition>;

/** A status file's text as a value; a sentence where it is none that this version understands. */
export function readStatus(source: string): Status | string {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (error) {
    return `it is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  const schema = typeof value === "object" && value !== null && "schema" in value ? value.schema : undefined;
  if (schema !== statusSchema)
    return typeof schema === "string"
      ? `its schema is ${JSON.stringify(schema)}; this version understands ${statusSchema}`
      : `it names no schema; this version understands ${statusSchema}`;
  return status.problem(value, "status") ?? (value as Status);
}
