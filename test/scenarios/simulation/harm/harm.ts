import type { Millis } from "../../../../agent/base/clock.ts";
import { type Act, actsOf, isTainted } from "../checks/acts.ts";
import type { History, NodeState, Trouble } from "../history.ts";
import { isMovable } from "../pod-keeper.ts";
import { judging } from "../site-config.ts";

/**
 * What was wrong with a living board when it was harmed, or had been until it was heard again; "nothing": its link worked, for
 * example under an API outage.
 */
export type Circumstance = Trouble["what"] | "just back from a power cut" | "nothing";

/** A harmful act that took effect on a board which had power. */
export interface FalseAct {
  readonly is: Exclude<Act["is"], "unknown">;
  readonly circumstance: Circumstance;
  /** The leader ran on that board. */
  readonly own: boolean;
}

/** A healthy board that lost power and did not return. Times are counted from the loss. */
export interface Death {
  /** Undefined: it was never tainted. */
  readonly taintedAfter: Millis | undefined;
  /** When the last of its pods that have to leave was deleted; undefined: some never were. */
  readonly emptiedAfter: Millis | undefined;
}

/** What a schedule's harmful acts were worth, by the truth of its world and not by the verdicts of its agents. */
export interface Harm {
  readonly falseActs: readonly FalseAct[];
  readonly deaths: readonly Death[];
}

/** For this long after its return, a harmed board counts as just back. */
const justBack: Millis = 120_000;
/** For this long after its first sign of life, the leader may not have judged a board again: a monitor period, and its requests. */
const judgedWithin: Millis = judging.monitorPeriod + 1000;
/** The kinds of pods that tolerate the taint for a limited time (pod-keeper.ts). */
const evictable = ["brief", "short", "long"];

/** An act that took effect, and when. */
type DoneAct = Act & { readonly at: Millis };

export function harmOf(history: History): Harm {
  const effects = new Map(history.writes.map(({ order, effect }) => [order, effect?.at]));
  const acts = actsOf(history).flatMap((act): readonly DoneAct[] => {
    const at = effects.get(act.order);
    return act.isDone && at !== undefined ? [{ ...act, at }] : [];
  });
  return { falseActs: acts.flatMap((act) => falseActOf(act, history) ?? []), deaths: deathsOf(acts, history) };
}

function falseActOf({ is, board, process, at }: DoneAct, history: History): FalseAct | undefined {
  if (is === "unknown") return undefined;
  const troubles = (history.troubles.get(board) ?? []).filter(({ from }) => from <= at);
  const isPresent = ({ until }: Trouble): boolean => until === undefined || until > at;
  if (troubles.some((trouble) => trouble.what === "no power" && isPresent(trouble))) return undefined;
  const signs = history.signs.get(board) ?? [];
  // Until a heartbeat of the board arrives, it is not known that its link works.
  const isUnheard = ({ until = at }: Trouble): boolean =>
    !signs.some((sign) => sign >= until && sign < at - judgedWithin);
  const present = troubles.filter((trouble) => isPresent(trouble) || isUnheard(trouble)).map(({ what }) => what);
  const isJustBack = troubles.some(({ what, until = at }) => what === "no power" && at - until < justBack);
  const circumstance = isJustBack
    ? "just back from a power cut"
    : (byGravity.find((what) => present.includes(what)) ?? "nothing");
  return { is, circumstance, own: history.processes.get(process)?.board === board };
}

const byGravity: readonly Trouble["what"][] = [
  "the whole link, silent",
  "the whole link, refused",
  "the whole link, slow or refusing",
  "only the kubelet's link",
];

function deathsOf(acts: readonly DoneAct[], history: History): readonly Death[] {
  return [...history.troubles].flatMap(([board, troubles]) => {
    const loss = troubles.find(({ what, until }) => what === "no power" && until === undefined)?.from;
    if (loss === undefined || !isHealthyAt(loss, history.nodes.get(board))) return [];
    const later = acts.filter((act) => act.board === board && act.at >= loss);
    const firstAt = (is: Act["is"], pod?: string): Millis | undefined =>
      later.find((act) => act.is === is && act.pod === pod)?.at;
    const tainted = firstAt("taint");
    const names = evictable.map((kind) => `${kind}-${board}`);
    const { setting } = history;
    const leaving = names.filter((name) => setting.policy === "kubernetes" || isMovable(name, setting));
    const gone = leaving.map((name) => firstAt("evict", name));
    const emptied = gone.every((at) => at !== undefined) ? Math.max(...gone) : undefined;
    const after = (at: Millis | undefined): Millis | undefined => at && at - loss;
    return [{ taintedAfter: after(tainted), emptiedAfter: after(emptied) }];
  });
}

/** False for a board that has no Node yet, or that was already taken for lost. */
function isHealthyAt(time: Millis, states: readonly NodeState[] = []): boolean {
  const state = states.findLast(({ at }) => at <= time);
  return state !== undefined && state.ready === "True" && !isTainted(state.taints);
}
