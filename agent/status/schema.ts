import { count, list, maybe, record, type TypeOf, text, word, yesNo } from "./shape.ts";

/** Compatible changes only add members; any other change takes the next number. Readers ignore unknown members. */
export const statusSchema = "siteward.status/1";

export type Severity = "critical" | "warning" | "info";
export type Level = "ok" | "degraded" | "critical";

const condition = record({
  type: text,
  /** Tells several conditions of one type apart. */
  subject: maybe(text),
  /** Always true: resolved conditions are not listed. */
  status: yesNo,
  severity: word<Severity>(),
  since: text,
  message: text,
  /** Next step for an operator, if any. */
  hint: maybe(text),
});

const leader = record({
  role: word<"leader" | "standby">(),
  /** The leading board; absent while none is known. */
  holder: maybe(text),
  term: count,
  since: maybe(text),
  leaseAgeMs: maybe(count),
  leaseDurationMs: count,
  renewP95Ms: maybe(count),
  missedRenewals: maybe(count),
  /** How this board's last term ended; absent while it leads. */
  ended: maybe(record({ at: text, why: text })),
});

const api = record({
  state: word<"starting" | "up" | "down">(),
  server: maybe(text),
  since: text,
  rttP50Ms: maybe(count),
  rttP95Ms: maybe(count),
  /** Requests in the last hour, in total and without an answer. */
  requests1h: maybe(count),
  failed1h: maybe(count),
  lastError: maybe(text),
  /** The last outage that has ended, with the peak number of boards and pods held back. */
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
  /** How long the oldest received change has been waiting to be applied; absent if none is. */
  behindMs: maybe(count),
  /** Number of lists and of watch restarts. */
  lists: count,
  restarts: count,
  /** Objects from the API that could not be used, and the last few reasons. */
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
  /** Boards per second that may be evicted; 0 while the zone is frozen. */
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
  /** Silent beyond their grace period. */
  lost: named,
  /** Silent as well, but cordoned: taken out of use by an operator. */
  off: named,
  /** Heard from, but their Ready condition is not True. */
  notReady: named,
  /** Boards with a NoExecute taint set by the agent. */
  tainted: count,
});

const judgement = record({
  /** Age of the verdicts on boards and zones. */
  ageMs: maybe(count),
  /** Silent boards whose conditions in the API have not been updated yet. */
  unwritten: count,
});

const eviction = record({
  /** Boards waiting for their NoExecute taint. */
  queue: count,
  /** Boards in the queue that are held back. */
  queueHeld: maybe(count),
  /** Pods whose toleration time is running. */
  pending: count,
  /** Pods whose toleration time is over and that still exist: held, or not deleted yet. */
  due: maybe(count),
  /** Pods evicted in the last hour. */
  evicted1h: maybe(count),
  /** Harmful acts of this process, by kind. */
  acts: maybe(list(record({ act: text, lastHour: count, total: count }))),
  oldestMs: maybe(count),
  /** Why harmful acts are held at present. */
  held: maybe(text),
  /** Freezes ordered by operators. */
  frozen: maybe(list(freeze)),
});

const controller = record({
  name: text,
  state: word<"running" | "standby" | "off" | "failing" | "paused">(),
  queue: count,
  syncP95Ms: maybe(count),
  errors1h: maybe(count),
  lastError: maybe(text),
  /** Members of a pause. */
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
  /** Bytes written in the last writtenSpanMs: a day, or the time since the process started. */
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
      /** Used share of the expected life, 0 to 1. */
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

/** The content of status.json. Components that do not exist yet are left out. */
export const status = record({
  schema: text,
  writtenAt: text,
  /** The boot clock when the file was written; ages are computed from it, independent of the wall clock. */
  writtenBootMs: count,
  staleAfterMs: count,
  bootId: text,
  invocationId: maybe(text),
  pid: count,
  version: text,
  startedAt: text,
  /** Failed writes of the file since the start. */
  writeFailures: count,
  /** Why this process ends, and how the previous one ended. */
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
      /** End of the quiet hours. */
      quietUntil: maybe(text),
    }),
  ),
  commands: maybe(list(command)),
});

export type Status = TypeOf<typeof status>;
export type Condition = TypeOf<typeof condition>;

/** Parses a status file; returns a sentence if this version cannot read it. */
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
