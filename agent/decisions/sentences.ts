import type { Millis } from "../base/clock.ts";
import { formatDuration } from "../base/time/duration.ts";
import { type DecisionRecord, restraintNow, type StoredMoment, subjectText } from "./decision-record.ts";
import type { Grounds, Restraint, SilenceFacts } from "./grounds.ts";

/** Shows a moment to the reader. */
export type ShowTime = (moment: StoredMoment) => string;

/** One event of a story, and its time. */
export interface StoryLine {
  readonly at: StoredMoment;
  readonly text: string;
}

/**
 * The current state of a story, in one sentence. `end`: why its leader no longer decides about the act, although it was
 * neither done nor lapsed, as a clause such as "its term ended"; undefined while the story may still change.
 */
export function headlineOf(record: DecisionRecord, time: ShowTime, end?: string): string {
  if (record.shadow) return shadowHeadlineOf(record, time, end);
  const { on, state, first, last, leader, term, failures, error = "?" } = record;
  const subject = subjectText(on);
  const done = doneText(record);
  const leading = `${leader} (term ${term})`;
  switch (state) {
    case "done":
      return `${subject} was ${done} at ${time(last)} by ${leading}, because ${becauseText(record)}`;
    case "held": {
      const restraint = restraintNow(record);
      const why = restraint ? `: ${restraintText(restraint)}` : "";
      return end === undefined
        ? `${subject} is due to be ${done}, but this has been held back since ${time(first)} by ${leading}${why}`
        : `${subject} was due to be ${done}, but ${leading} held this back from ${time(first)} until ${end}${why}`;
    }
    case "lapsed":
      return `${subject} was due to be ${done}; this was held back from ${time(first)} by ${leading}, and was no longer due at ${time(last)}`;
    case "failed":
      return end === undefined
        ? `${subject} is due to be ${done}; this has failed ${timesText(failures)} since ${time(first)} by ${leading}: ${error}`
        : `${subject} was due to be ${done}; ${leading} failed to do this ${timesText(failures)} from ${time(first)} until ${end}: ${error}`;
    default:
      return `${subject} was due to be ${done}: ${String(state)}`;
  }
}

/** The same for a story of a controller that only pretended to write. */
function shadowHeadlineOf(record: DecisionRecord, time: ShowTime, end: string | undefined): string {
  const { on, state, first, last, leader, term, error = "?" } = record;
  if (record.because.kind === "seen") {
    const seen = record.because.late
      ? `at ${time(last)} or earlier, as ${leader} (term ${term}) saw`
      : `as ${leader} (term ${term}) saw at ${time(last)},`;
    return record.compared
      ? `${subjectText(on)} was really ${doneText(record)}, ${seen}`.replace(/,$/, "")
      : `${subjectText(on)} was ${doneText(record)} by another program, ${seen} while siteward was ${shadowMode}`;
  }
  const would = `${subjectText(on)} would have been ${doneText(record)}`;
  const leading = `${leader} (term ${term}, ${record.compared ? comparedMode : shadowMode})`;
  const until = end === undefined ? `since ${time(first)}` : `from ${time(first)} until ${end}`;
  switch (state) {
    case "done":
      return `${would} at ${time(last)} by ${leading}, because ${becauseText(record)}`;
    case "held": {
      const restraint = restraintNow(record);
      const why = restraint ? `: ${restraintText(restraint)}` : "";
      return `${would}, but ${leading} would have held this back ${until}${why}`;
    }
    case "lapsed":
      return `${would}; ${leading} would have held this back from ${time(first)}, and it was no longer due at ${time(last)}`;
    case "failed":
      return `${would} by ${leading} ${until}, but this would have failed: ${error}`;
    default:
      return `${would}: ${String(state)}`;
  }
}

const shadowMode = "in shadow mode: nothing was written";
const comparedMode = "by policy kubernetes, for comparison only: nothing was written";

/** The events of a story, in order. */
export function linesOf(record: DecisionRecord): readonly StoryLine[] {
  if (record.shadow) return shadowLinesOf(record);
  const { on, state, last, failures, error } = record;
  const [subject, done] = [subjectText(on), doneText(record)];
  const held = heldLines(record, `${subject} held back`);
  const failed = `${subject} not ${done}, ${timesText(failures)}: ${error ?? "?"}`;
  switch (state) {
    case "done":
      return [
        ...held,
        { at: last, text: `${subject} ${done}: ${[becauseText(record), ...evidenceOf(record)].join("; ")}` },
      ];
    case "lapsed":
      return [...held, { at: last, text: `${subject} was no longer due to be ${done}` }];
    case "failed":
      return [...held, { at: last, text: failed }];
    default:
      return held;
  }
}

function shadowLinesOf(record: DecisionRecord): readonly StoryLine[] {
  const { on, state, last, error } = record;
  if (record.because.kind === "seen") {
    const { verdict, rule, late } = record.because;
    const when = late ? ", at this time or earlier" : "";
    const known = verdict === undefined ? "" : `; siteward's verdict: ${verdict} (${rule ?? "?"})`;
    return [{ at: last, text: `${subjectText(on)} ${doneText(record)} by another program${when}${known}` }];
  }
  const [subject, done] = [`${subjectText(on)} (shadow)`, doneText(record)];
  const held = heldLines(record, `${subject} would have been held back`);
  switch (state) {
    case "done":
      return [
        ...held,
        {
          at: last,
          text: `${subject} would have been ${done}: ${[becauseText(record), ...evidenceOf(record)].join("; ")}`,
        },
      ];
    case "lapsed":
      return [...held, { at: last, text: `${subject} would no longer have been due to be ${done}` }];
    case "failed":
      return [...held, { at: last, text: `${subject} would not have been ${done}: ${error ?? "?"}` }];
    default:
      return held;
  }
}

/** The holds of a story, in the order in which they began. */
const heldLines = ({ restraints }: DecisionRecord, what: string): readonly StoryLine[] =>
  [...restraints]
    .sort((a, b) => a.since.mono - b.since.mono)
    .map((one) => ({ at: one.since, text: `${what}: ${restraintText(one)}` }));

/** The reason for an act, as a clause: "pi-3 was silent for 50s (grace period 40s)". */
export function becauseText({ board, because }: Pick<Grounds, "board" | "because">): string {
  switch (because.kind) {
    case "silence":
      return silenceText(board, because);
    case "reported":
      return `the kubelet of ${board} reported it as not ready`;
    case "taints": {
      const { taints, toleratedMs, silence } = because;
      const tolerated =
        toleratedMs === 0 ? "which the pod does not tolerate" : `which the pod tolerates for ${ms(toleratedMs)}`;
      const silent = silence && isOverdue(silence) ? `; ${silenceText(board, silence)}` : "";
      return `${board} has the taint ${taints.join(", ")}, ${tolerated}${silent}`;
    }
    case "seen":
      return "another program did it";
    case "node-deleted":
      return `the Node of its board ${board} no longer exists`;
    case "out-of-service":
      return `${board} was declared out of service${because.by === undefined ? "" : ` by ${because.by}`}${because.reason === undefined ? "" : ` (${because.reason})`}`;
    default:
      return `${board}: ${String(Object(because).kind)}`;
  }
}

/** Why an act was held back, as a clause. */
export function restraintText(restraint: Restraint): string {
  switch (restraint.why) {
    case "not-live":
      return "the leader could not receive heartbeats: its watches of Nodes and Leases were not live, or the API server accepted no writes";
    case "quarantine":
      return "after an outage, not every board had sent a heartbeat yet";
    case "report":
      return "the kubelet could still withdraw its report that the board is not ready";
    case "verdict":
      // A board counts as alive until its grace period has ended, which says little about the board.
      return restraint.verdict === "alive" ? restraint.rule : `the verdict was ${restraint.verdict}: ${restraint.rule}`;
    case "valve":
      return valveText(restraint);
    case "zone":
      return `too many boards of zone ${restraint.zone} were not ready (${restraint.state})`;
    case "freeze": {
      const { scope, target, by, reason, leftMs } = restraint;
      const where = target === undefined ? "the site" : `${scope} ${target}`;
      return `evictions of ${where} were frozen by ${by}${reason === undefined ? "" : ` (${reason})`} for another ${ms(leftMs)}`;
    }
    case "turn":
      return `after a freeze, boards take turns, and this board's turn was still ${ms(restraint.leftMs)} away`;
    case "no-gain":
      return `${stayText(restraint)}; ${releases}`;
    default:
      return String(Object(restraint).why);
  }
}

/** How a pod that stays on a silent board is evicted all the same. */
const releases =
  "board.confirm-dead evicts it all the same, and so does siteward.dev/on-silence: replace-when-lost on the pod or its namespace";

function stayText({ reason, of = "pod" }: Extract<Restraint, { readonly why: "no-gain" }>): string {
  const annotation = `the annotation siteward.dev/on-silence of ${of === "pod" ? "the pod" : "its namespace"}`;
  switch (reason) {
    case "asked":
      return `${annotation} keeps it on a silent board`;
    case "asked unclearly":
      return `${annotation} has a value that this version does not know, which counts as hold`;
    case "no owner":
      return "no controller would replace the pod, so an eviction would lose it for good";
    case "StatefulSet":
      return "its StatefulSet starts no second copy before the board confirms that the pod has ended, so an eviction would only end the pod when the board returns";
    case "DaemonSet":
      return "its DaemonSet would start it on the same board again";
    case "no board":
      return "no other board is Ready and uncordoned, so an eviction would gain no second copy";
    case "placement":
      return "no other Ready board can take it (node selector, affinity, taints, requests), so an eviction would gain no second copy";
    case "volume":
      return "its volume cannot be used on another Ready board, so an eviction would gain no second copy";
    default:
      return String(reason);
  }
}

function valveText({ of, count, limit }: Extract<Restraint, { readonly why: "valve" }>): string {
  switch (of) {
    case "acts":
      return `the safety valve was shut: ${count} harmful acts within an hour (limit ${limit})`;
    case "pods":
      return `the safety valve was shut for pods: ${count} harmful acts within an hour (limit ${limit}, of which a part is kept for boards)`;
    case "share":
      return `the safety valve was shut for the pod's namespace, which had used its share: ${count} harmful acts within an hour (limit ${limit} for all)`;
    case "boards":
      return `the safety valve was shut: ${count} silent boards were tainted (limit ${limit})`;
    default:
      return "the safety valve was shut: the harmful acts of the last hour were unknown";
  }
}

/** The effect of an act on its object, in words: "evicted from pi-3". */
export function doneText({ act, board }: Pick<DecisionRecord, "act" | "board">): string {
  switch (act) {
    case "board-marked":
      return "marked as Ready=Unknown";
    case "board-tainted":
      return "tainted NoExecute";
    case "pod-evicted":
      return `evicted from ${board}`;
    case "pod-collected":
      return "deleted by Pod GC";
    case "pod-replaced":
      return `deleted on ${board}, to be replaced`;
    default:
      return String(act);
  }
}

/**
 * Whether the board has been silent for longer than allowed. Earlier versions recorded the silence of a pod's board
 * only in this case.
 */
const isOverdue = ({ silentMs, graceMs = 0 }: SilenceFacts): boolean => silentMs !== undefined && silentMs > graceMs;

/** The silence, in words. It is proven up to the last proof only: a later heartbeat may not have arrived yet. */
function silenceText(board: string, { silentMs, graceMs, provenMs, unheard }: SilenceFacts): string {
  if (silentMs === undefined) return `${board} was silent`;
  const allowed = graceMs === undefined ? "" : ` (grace period ${ms(graceMs)})`;
  return unheard
    ? `${board} had sent no heartbeat since the leader began to watch it ${ms(silentMs)} earlier${allowed}`
    : `${board} was silent for ${provenMs === undefined ? "" : "at least "}${ms(silentMs - (provenMs ?? 0))}${allowed}`;
}

/** The facts behind the reason: the verdict and its rule, the proof, the zone. */
function evidenceOf({ because }: Pick<DecisionRecord, "because">): readonly string[] {
  const facts = because.kind === "silence" ? because : "silence" in because ? because.silence : undefined;
  if (facts === undefined) return [];
  const { verdict, rule, provenMs, zone } = facts;
  return [
    `verdict ${verdict} (${rule})`,
    ...(provenMs === undefined ? [] : [`last proof ${ms(provenMs)} old`]),
    ...(zone === undefined ? [] : [`zone ${zone.name} ${zone.state}`]),
  ];
}

const timesText = (count: number): string => (count === 1 ? "once" : `${count} times`);

const ms = (length: Millis): string => (Number.isFinite(length) ? formatDuration(Math.max(0, length)) : "?");
