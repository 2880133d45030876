import {
  dottedPath,
  list,
  number,
  optional,
  read,
  openRecord as record,
  type Schema,
  type TypeOf,
  text as textOf,
  yesNo,
} from "../base/schema.ts";

/**
 * Compatible changes of the document only add members; any other change takes the next number. Readers ignore unknown
 * members.
 */
export const statusSchema = "siteward.status/1";

export type Severity = "critical" | "warning" | "info";
export type StatusLevel = "ok" | "degraded" | "critical";

const text = textOf({ expects: "text" });
const count = number();
/** A number of milliseconds, or a mean number of bytes: written as a whole number. */
const span: Schema<number> = { ...count, json: { type: "integer" } };
/** A word from a fixed set. Any text passes the check, because a newer writer may use other words. */
const word = <W extends string>(): Schema<W> => text as Schema<W>;

const condition = record({
  type: text,
  /** Distinguishes several conditions of one type. */
  subject: optional(text),
  /** Always true: resolved conditions are not listed. */
  status: yesNo,
  severity: word<Severity>(),
  since: text,
  message: text,
  /** The next step for an operator; absent if there is none. */
  hint: optional(text),
  /** True: the condition is one of the site, which only the leading board knows of. */
  isOfSite: optional(yesNo),
});

const leader = record({
  role: word<"leader" | "standby">(),
  /** The leading board; absent while none is known. */
  holder: optional(text),
  term: count,
  since: optional(text),
  /** The board that led before, if this process saw the Lease change hands. */
  previous: optional(text),
  leaseAgeMs: optional(span),
  leaseDurationMs: span,
  renewP95Ms: optional(span),
  missedRenewals: optional(count),
  /** How this board's last term ended; absent while it leads. */
  ended: optional(record({ at: text, why: text })),
});

const api = record({
  state: word<"starting" | "up" | "down">(),
  since: text,
  rttP50Ms: optional(span),
  rttP95Ms: optional(span),
  /** Requests in the last hour, in total and without an answer. */
  requests1h: optional(count),
  failed1h: optional(count),
  lastError: optional(text),
  /** Time since the last response to a request; absent if there was none. */
  answeredMs: optional(span),
  /** The last outage that has ended, with the peak number of boards and pods that it held back. */
  lastOutage: optional(
    record({
      number: count,
      from: text,
      to: text,
      /** Why it began. */
      why: optional(word<"unreachable" | "credentials" | "certificate" | "silence">()),
      /** Absent if this board did not lead when it began, because it then does not know what was due. */
      boardsHeld: optional(count),
      podsHeld: optional(count),
    }),
  ),
  watch: record({ open: count, restarts: count, restarts1h: optional(count) }),
});

const mqtt = record({
  state: word<"starting" | "up" | "down">(),
  server: optional(text),
  session: count,
  dropped: count,
  since: text,
  rttMs: optional(span),
  outbox: record({ state: count, response: count, event: count, oldestMs: optional(span) }),
  lastError: optional(text),
});

const watch = record({
  resource: text,
  state: word<"live" | "syncing" | "silent" | "failing" | "off">(),
  objects: count,
  /** The numbers of lists and of watch restarts. */
  lists: count,
  restarts: count,
  /** Objects from the API that could not be used, and the last few reasons. */
  rejected: count,
  rejectedWhy: list(text),
  heardMs: optional(span),
  /** How long the oldest received change has been waiting to be applied; absent if none is. */
  behindMs: optional(span),
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
  frozenUntil: optional(text),
  /** Until when the rate is lower than the zone's state allows, and the reason: an outage or a freeze before. */
  slowUntil: optional(text),
  slowAfter: optional(word<"outage" | "freeze">()),
});

const freeze = record({
  scope: word<"site" | "zone" | "board">(),
  target: optional(text),
  until: text,
  by: text,
  reason: optional(text),
});

const pause = record({ controller: text, until: text, by: text, reason: optional(text) });

const confirmed = record({ target: optional(text), until: text, by: text, reason: optional(text) });

const release = record({ until: text, by: text, reason: optional(text) });

const namedBoard = record({
  name: text,
  neverHeard: optional(yesNo),
  since: text,
  /** Set if the board's new grace period, after a change of leader or an outage, has not ended. */
  unjudged: optional(yesNo),
  /** The operator who confirmed the board dead (`board.confirm-dead`). */
  confirmedBy: optional(text),
  /** When the hold on evicting its pods ends, unless something shows before then whether the board runs. */
  heldUntil: optional(text),
  /**
   * The evidence that a silent board runs: its LAN answer, even if its kubelet does not run, or the fact that it leads.
   */
  witness: optional(word<"lan" | "lan, no kubelet" | "leader">()),
});

const named = record({ count, some: list(namedBoard) });

const boards = record({
  /** Boards that are silent beyond their grace period. */
  lost: named,
  /** Boards that are also silent, but are known to run, so their pods stay. */
  cutOff: optional(named),
  /** Boards that are also silent, but were cordoned: an operator took them out of use. */
  off: named,
  /** Boards that send heartbeats, but whose Ready condition is not True. */
  notReady: named,
  /** Boards with the NoExecute taint of an unreachable or not ready board, set by any program. */
  tainted: count,
});

const names = record({ count, some: list(text) });

/** The other boards of the site, as far as the leader can hear them on the LAN. */
const lan = record({
  boards: count,
  /** Boards that answered within the last day. */
  heard: count,
  /** Boards that were asked, and did not answer within the last day. */
  unheard: names,
  /** Boards that announce no address. */
  mute: names,
});

const judgement = record({
  /** Age of the verdicts on boards and zones. */
  ageMs: optional(span),
  /** Silent boards whose conditions in the API have not been updated yet. */
  unwritten: count,
  /**
   * An operator paused the controller that judges boards. Zones and boards are shown as of the last judgement, `ageMs`
   * ago.
   */
  isPaused: optional(yesNo),
});

/** The safety valve: how many harmful acts it permits without an operator. */
const valve = record({
  /** Harmful acts of the last hour, by all leaders, and how many are permitted. */
  acts: count,
  limit: count,
  /** The part of the limit that is kept for the taints of boards. */
  kept: optional(count),
  /** The namespaces whose pods have used most of the acts since this board began to lead. */
  usedBy: optional(list(record({ namespace: text, acts: count }))),
  /** Number of boards that are tainted because they are silent. */
  boards: count,
  /** The limit of `boards`. */
  mostBoards: count,
  /** Set if not all acts of the last hour are known, in which case no act is permitted. */
  isUnknown: optional(yesNo),
  /** Since when acts have been held; absent while none is. */
  heldSince: optional(text),
  /** How many recorded acts are held, and the first few boards on which they are. */
  held: optional(count),
  heldOn: optional(list(text)),
});

const eviction = record({
  /** Boards waiting for their NoExecute taint. */
  queue: count,
  /** Boards in the queue that are held back. */
  queueHeld: optional(count),
  /** Pods whose toleration time is running. */
  pending: count,
  /**
   * Pods that still exist although their toleration time has expired, because their eviction is held or in progress.
   */
  due: optional(count),
  /** Pods that this board evicted in the last hour. */
  evicted1h: optional(count),
  /** Harmful acts of this process, by kind. */
  acts: optional(list(record({ act: text, lastHour: count, total: count }))),
  /** Recorded acts that are held back, by reason: the current ones, and all since the process started. */
  heldActs: optional(list(record({ why: text, now: count, total: count }))),
  /** Pods that stay on silent boards because their eviction would gain nothing, and the first few of these boards. */
  staying: optional(record({ pods: count, on: list(text) })),
  oldestMs: optional(span),
  /** Why harmful acts are currently held. */
  held: optional(text),
  /** Freezes ordered by operators. */
  frozen: optional(list(freeze)),
  valve: optional(valve),
});

const controller = record({
  name: text,
  /** shadow: it decides and records, and writes nothing. */
  state: word<"running" | "standby" | "off" | "failing" | "paused" | "shadow">(),
  queue: count,
  errors1h: optional(count),
  lastError: optional(text),
  syncP95Ms: optional(span),
  /** Members of a pause. */
  until: optional(text),
  by: optional(text),
  reason: optional(text),
});

const journal = record({
  path: text,
  depth: count,
  dbBytes: count,
  walBytes: count,
  persistence: optional(word<"persistent" | "volatile">()),
  /** Bytes written within the last `writtenSpanMs`, which is a day, or less if the process started later. */
  writtenBytes24h: optional(span),
  writtenSpanMs: optional(span),
});

const memory = record({
  rssBytes: optional(count),
  anonymousBytes: optional(count),
  peakBytes: optional(count),
  heapUsedBytes: count,
  softBytes: optional(count),
  hardBytes: optional(count),
  cgroup: optional(word<"on" | "off">()),
  psiSome10: optional(count),
});

const board = record({
  model: optional(text),
  ramBytes: optional(count),
  compatible: optional(text),
  tempC: optional(count),
  tempZone: optional(text),
  throttled: optional(record({ now: list(text), sinceBoot: list(text) })),
  storage: optional(
    record({
      dev: optional(text),
      kind: optional(text),
      /** Used share of the expected life, 0 to 1. */
      wear: optional(count),
      freeBytes: optional(count),
      readOnly: yesNo,
    }),
  ),
  rails: optional(list(record({ label: text, milliwatts: count }))),
  ioPsiSome10: optional(count),
  loadavg1: optional(count),
});

const command = record({ id: text, name: text, state: text, by: optional(text), reason: optional(text), at: text });

const ending = record({ cause: text, message: optional(text) });

/** The content of status.json. Components that do not exist yet are left out. */
export const status = record({
  schema: text,
  writtenAt: text,
  /** The boot clock when the file was written; ages are computed from it, independent of the wall clock. */
  writtenBootMs: span,
  staleAfterMs: span,
  bootId: text,
  invocationId: optional(text),
  pid: count,
  version: text,
  startedAt: text,
  /** Failed writes of the file since the start. */
  writeFailures: count,
  /** Why this process is ending, and how the previous one ended. */
  ending: optional(ending),
  previous: optional(ending),
  health: record({ level: word<StatusLevel>(), ready: yesNo, conditions: list(condition) }),
  identity: record({ site: text, board: text, node: text, profile: optional(text), fleet: optional(text) }),
  clock: optional(record({ state: word<"synced" | "unsynced">(), source: optional(text), apiSkewMs: optional(span) })),
  leader: optional(leader),
  link: optional(record({ api, mqtt: optional(mqtt) })),
  watches: optional(list(watch)),
  traffic: optional(list(traffic)),
  zones: optional(list(zone)),
  boards: optional(boards),
  lan: optional(lan),
  judgement: optional(judgement),
  eviction: optional(eviction),
  controllers: optional(list(controller)),
  journal: optional(journal),
  memory: optional(memory),
  board: optional(board),
  config: optional(
    record({
      files: list(text),
      warnings: list(text),
      desiredVersion: optional(count),
      appliedVersion: optional(count),
      state: optional(text),
    }),
  ),
  holds: optional(
    record({
      freezes: list(freeze),
      pauses: list(pause),
      confirmed: list(confirmed),
      /** While it runs, the safety valve holds nothing back. */
      release: optional(release),
      /** End of the quiet hours. */
      quietUntil: optional(text),
    }),
  ),
  commands: optional(list(command)),
});

export type Status = TypeOf<typeof status>;
export type StatusCondition = TypeOf<typeof condition>;

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
  const found = read(status, value);
  if ("value" in found) return found.value;
  const { problem } = found;
  return `${dottedPath(["status", ...problem.path])} is not ${"expects" in problem ? problem.expects : "readable"}`;
}
