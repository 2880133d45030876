import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, NodeState } from "../history.ts";
import { judging } from "../site-config.ts";
import { type Act, actText, isTainted } from "./acts.ts";
import type { Hearing, Outage, RespiteSeen } from "./hearing.ts";
import type { TermBegun } from "./terms.ts";

/** The longest time from a decision to its request, because of a queue, the request limit, or earlier writes. */
const execution: Millis = 60_000;
/** Policy `evidence`: a board that missed so many grace periods between outages has a quarter of one after the next outage. */
const missedPeriods = 3;
/** How long a process may leave the Lease to others. */
const longestRest: Millis = 150_000;
/** Clocks differ by half a percent, and monitor passes are some seconds apart. */
const slack: Millis = 2000;

/**
 * There must be no act on a board while the process receives no heartbeats, none on a board that was not silent, and
 * none before a grace period in which heartbeats could arrive again.
 */
export function checkBlindness(
  history: History,
  acts: readonly Act[],
  terms: readonly TermBegun[],
  hearings: ReadonlyMap<number, Hearing>,
): readonly string[] {
  return acts.flatMap((act) => {
    const hearing = hearings.get(act.process);
    if (hearing === undefined) return [`blind: ${actText(act)}: unknown process`];
    const wrong: string[] = [];
    if (!hearing.wasLiveWithin(act.triedAt - execution, act.sentAt)) wrong.push(`blind: ${actText(act)}: it was deaf`);
    if (!wasSilent(history, act, hearing.lastNews("nodes", act.triedAt - slack)))
      wrong.push(`blind: ${actText(act)}: the board was not silent for a grace period`);
    const began = terms.findLast(({ order }) => order < act.order)?.at ?? 0;
    const own = terms.filter(({ process }) => process === act.process);
    const heardAgain = hearing.restoredBefore(act.triedAt);
    const connected = heardAgain !== undefined && isOwnRest(history, own, heardAgain) ? undefined : heardAgain;
    const restored = latest(connected, writableSince(history, act, began));
    if (restored !== undefined && isHeld(history, act, { hearing, terms: own }, restored)) {
      wrong.push(`quarantine: ${actText(act)}: the outage was over only at ${(restored / 1000).toFixed(3)}s`);
    }
    const since = Math.max(began, restored ?? 0);
    const grace = graceAfter(history, act, { hearing, terms: own }, since);
    if (act.is === "unknown" && act.sentAt - since < grace - slack) {
      wrong.push(`grace: ${actText(act)}: not a grace period after ${(began / 1000).toFixed(3)}s`);
    }
    return wrong;
  });
}

/**
 * Whether the watches were interrupted because the process left the Lease to others and then led again, which is no outage.
 * Policy `kubernetes` goes on at once then; `evidence` waits as after an outage.
 */
const isOwnRest = ({ setting }: History, own: readonly TermBegun[], heardAgain: Millis): boolean =>
  setting.policy === "kubernetes" &&
  own.some(
    ({ released }) => released !== undefined && released.at < heardAgain && heardAgain - released.at < longestRest,
  );

/**
 * True if the API server had received nothing from the board for a grace period at some recent moment, within the time that a
 * broken watch can go unnoticed. Policy `kubernetes` requires only Ready=Unknown once that is written, and deletes pods as
 * long as the taint exists, like its model, even if the board is back; it acts on its view of the Nodes, however old
 * the last news is.
 */
function wasSilent({ signs, nodes, setting }: History, { is, board, triedAt }: Act, news: Millis): boolean {
  const oldest = triedAt - judging.stall - execution;
  const signsOfBoard = signs.get(board) ?? [];
  const moments = [...signsOfBoard.filter((at) => at > oldest && at <= triedAt), triedAt];
  const last = signsOfBoard.filter((at) => at <= oldest).at(-1) ?? Number.NEGATIVE_INFINITY;
  const gaps = moments.map((at, index) => at - (moments[index - 1] ?? last));
  if (gaps.some((gap) => gap > judging.gracePeriod - slack)) return true;
  if (setting.policy === "evidence" || is === "unknown") return false;
  const states = nodes.get(board) ?? [];
  return states.some(({ at, ready, taints }, index) => {
    const until = states[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const asks = ready === "Unknown" || (is === "evict" && isTainted(taints));
    return asks && at <= triedAt && until >= Math.min(oldest, news);
  });
}

/**
 * When heartbeats could be written again after an outage of the API server that the leader must have noticed from its renewals:
 * two of them were refused, and the last one that was not was longer ago than a blip.
 */
function writableSince(history: History, { process, triedAt }: Act, began: Millis): Millis | undefined {
  const board = history.processes.get(process)?.board ?? "";
  const ended = history.outages.findLast(({ until = triedAt }) => until < triedAt);
  if (ended?.until === undefined || ended.from < began || ended.until - ended.from < noticed(history)) return undefined;
  // Trouble of the leader's own link changes when it renews.
  const around = ended.from - execution;
  const troubles = history.troubles.get(board) ?? [];
  return troubles.some(({ from, until = triedAt }) => from < triedAt && until > around) ? undefined : ended.until;
}

/** An outage of the API that lasts for so long, the leader notices from its renewals. */
const noticed = ({ setting: { timing } }: History): Millis =>
  Math.max(judging.blip, timing.retry + judging.blip / 4) + slack;

/** The outages of the API. One that the leader may not notice ends a respite, and takes nothing from it. */
const outagesOfApi = (history: History): readonly Outage[] =>
  history.outages.flatMap(({ from, until }) =>
    until === undefined || until - from <= judging.blip
      ? []
      : { from: until - from < noticed(history) ? until : from, until },
  );

/** The troubles of the leader's own link, of which its renewals may show more than its watches. They end respites as well. */
const cutsOf = ({ processes, troubles }: History, process: number): readonly Outage[] =>
  (troubles.get(processes.get(process)?.board ?? "") ?? []).flatMap(({ from, until }) =>
    until === undefined || until - from <= judging.blip ? [] : { from: until, until },
  );

const latest = (a: Millis | undefined, b: Millis | undefined): Millis | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);

/** What the leader could hear, and the terms of its process. */
interface Watched {
  readonly hearing: Hearing;
  readonly terms: readonly TermBegun[];
}

/**
 * How long a board may be silent after the outage that ended at `since`, or the beginning of the term. Policy `evidence`: what it
 * missed of earlier respites counts, those of earlier terms of the process included, if other boards were heard in them and are
 * heard now.
 */
function graceAfter(
  history: History,
  { board, process, sentAt }: Pick<Act, "board" | "process" | "sentAt">,
  { hearing, terms }: Watched,
  since: Millis,
): Millis {
  if (history.setting.policy === "kubernetes") return judging.gracePeriod;
  const last = history.signs.get(board)?.findLast((at) => at <= sentAt) ?? 0;
  const missed = hearing
    .respitesBefore(since, [
      ...outagesOfApi(history),
      ...cutsOf(history, process),
      ...terms.map(({ at }) => ({ from: at, until: at })),
    ])
    .filter(({ from, until }) => from > last && until - from >= judging.gracePeriod / 4 - slack)
    .filter((respite) => areHeard(history, hearing, respite))
    .reduce((sum, { from, until }) => sum + until - from, 0);
  const hasMissed = missed >= missedPeriods * judging.gracePeriod - slack;
  return hasMissed && areHeard(history, hearing, { from: since, until: sentAt })
    ? judging.gracePeriod / 4
    : judging.gracePeriod;
}

/** Whether half of the boards that did not count as lost could be heard: their signs arrived, or took effect and could be read. */
function areHeard({ nodes, signs }: History, hearing: Hearing, { from, until }: RespiteSeen): boolean {
  const isHeard = (board: string): boolean =>
    hearing.heardOf(board, from, until) || (signs.get(board)?.some((at) => at >= from && at <= until) ?? false);
  const statesIn = (states: readonly NodeState[]): readonly NodeState[] =>
    states.filter(({ at }, index) => at <= until && (states[index + 1]?.at ?? until) >= from);
  const boards = [...nodes].map(([board, states]) => ({ board, states: statesIn(states) }));
  // A leader's view may lag: a board counts as present where it ever was, and is required only where it always was.
  const heard = boards.filter(({ board, states }) => states.some(({ ready }) => ready !== "Unknown") && isHeard(board));
  const present = boards.filter(({ states }) => states.length > 0 && states.every(({ ready }) => ready !== "Unknown"));
  return heard.length > 0 && 2 * heard.length >= present.length;
}

function isHeld(history: History, act: Act, watched: Watched, restored: Millis): boolean {
  if (act.is === "unknown" || act.sentAt - restored >= judging.gracePeriod - slack) return false;
  const known = [...history.nodes].filter(([, states]) => (states[0]?.at ?? Number.POSITIVE_INFINITY) < restored);
  // A board that missed earlier respites is not waited for.
  const isWaitedFor = (board: string): boolean =>
    act.sentAt - restored < graceAfter(history, { ...act, board }, watched, restored) - slack;
  return known.some(([board]) => isWaitedFor(board) && !watched.hearing.heardOf(board, restored, act.sentAt));
}
