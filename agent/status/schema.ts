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
});

const api = record({
  state: word<"starting" | "up" | "down">(),
  server: maybe(text),
  since: text,
  rttP50Ms: maybe(count),
  rttP95Ms: maybe(count),
  lastError: maybe(text),
  watch: record({ open: count, restarts: count, lastRelist: maybe(text) }),
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
  /** Evictions per second that the zone's state allows. */
  rate: count,
});

const eviction = record({
  /** Boards that wait for their NoExecute taint. */
  queue: count,
  /** Pods whose toleration time runs. */
  pending: count,
  evicted1h: maybe(count),
  oldestMs: maybe(count),
  /** Why nothing harmful is done at present. */
  held: maybe(text),
});

const controller = record({
  name: text,
  state: word<"running" | "standby" | "off" | "failing">(),
  queue: count,
  syncP95Ms: maybe(count),
  errors1h: maybe(count),
  lastError: maybe(text),
});

const journal = record({
  path: text,
  depth: count,
  dbBytes: count,
  walBytes: count,
});

const memory = record({
  rssBytes: maybe(count),
  anonymousBytes: maybe(count),
  peakBytes: maybe(count),
  heapUsedBytes: count,
});

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
  health: record({ level: word<Level>(), ready: yesNo, conditions: list(condition) }),
  identity: record({ site: text, board: text, node: text, profile: maybe(text) }),
  leader: maybe(leader),
  link: maybe(record({ api })),
  watches: maybe(list(watch)),
  traffic: maybe(list(traffic)),
  zones: maybe(list(zone)),
  eviction: maybe(eviction),
  controllers: maybe(list(controller)),
  journal: maybe(journal),
  memory: maybe(memory),
  board: maybe(record({ model: maybe(text), ramBytes: maybe(count) })),
  config: maybe(record({ files: list(text), warnings: list(text) })),
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
