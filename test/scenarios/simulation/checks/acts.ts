import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, NodeState, Write } from "../history.ts";

/**
 * The acts of an agent on a board or its pods because the board is silent. On these sites no board ever reports itself
 * as not ready, so each of these acts is caused by a verdict.
 */
export interface Act {
  /** unknown: Ready=Unknown. taint: a new NoExecute taint. unready: a pod leaves service. evict: a pod is deleted. */
  readonly is: "unknown" | "taint" | "unready" | "evict";
  readonly board: string;
  readonly zone: string;
  /** The pod's name, if the act concerns one. */
  readonly pod: string | undefined;
  readonly process: number;
  readonly sentAt: Millis;
  /** Whether the pod that it deletes was taken up by a kubelet; false for other acts. */
  readonly isOnRunning: boolean;
  /** Time of the first attempt, which may have met a conflict or a busy server. */
  readonly triedAt: Millis;
  readonly order: number;
  /** Whether it took effect. */
  readonly isDone: boolean;
  /** Whether there was nothing left to act on, which counts as done. */
  readonly isGone: boolean;
  /** Whether the agent received the answer. */
  readonly isAnswered: boolean;
  /** The uid that the write requires of its object. */
  readonly uid: string | undefined;
}

/** The longest time between two attempts of one act: the delay that a busy server requests. */
const longestRetry: Millis = 35_000;

export const lifecycleTaints = ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/not-ready:NoExecute"];

/** All acts in the order in which they were sent. */
export function actsOf(history: History): readonly Act[] {
  const { writes, setting } = history;
  const zones = new Map(setting.boards.map(({ name, zone }) => [name, zone]));
  /** For each process and path, the first in a series of failed attempts. */
  const failing = new Map<string, { readonly since: Millis; last: Millis }>();
  const acts: Act[] = [];
  for (const write of writes) {
    const key = `${write.process} ${write.method} ${write.path}`;
    const before = failing.get(key);
    const goesOn = before !== undefined && write.sentAt - before.last <= longestRetry;
    const triedAt = goesOn ? before.since : write.sentAt;
    const isDone = write.effect !== undefined && write.effect.status < 300;
    if (isDone) failing.delete(key);
    else failing.set(key, { since: triedAt, last: write.sentAt });
    const act = actOf(write, history);
    if (act === undefined) continue;
    const { process, sentAt, order, isAnswered } = write;
    const zone = zones.get(act.board) ?? "";
    acts.push({
      ...act,
      zone,
      process,
      sentAt,
      isOnRunning: act.is === "evict" && isTakenUp(write.effect?.before),
      triedAt,
      order,
      isDone,
      isGone: write.effect?.status === 404,
      isAnswered,
      uid: uidIn(write),
    });
  }
  return acts;
}

function actOf(
  { method, path, body, effect }: Write,
  { nodes }: History,
): Pick<Act, "is" | "board" | "pod"> | undefined {
  const [, board = "", status] = /^\/api\/v1\/nodes\/([^/]+)(\/status)?$/.exec(path) ?? [];
  if (board !== "" && method === "PATCH") {
    if (status !== undefined)
      return says(body, "Ready", "Unknown") ? { is: "unknown", board, pod: undefined } : undefined;
    // A write that changes another taint repeats this one. A refused write was meant for the version that it names,
    // however old.
    const isMet = effect !== undefined && effect.status < 300;
    const before = isMet ? taintsIn(effect.before) : taintsMeant(body, nodes.get(board));
    return isTainted(taintsIn(body)) && !isTainted(before) ? { is: "taint", board, pod: undefined } : undefined;
  }
  const [, pod, owner, ofStatus] =
    /^\/api\/v1\/namespaces\/default\/pods\/([a-z]+-(pi-\d+))(\/status)?$/.exec(path) ?? [];
  if (pod === undefined || owner === undefined) return undefined;
  if (method === "DELETE") return { is: "evict", board: owner, pod };
  return ofStatus !== undefined && says(body, "Ready", "False") ? { is: "unready", board: owner, pod } : undefined;
}

/** A kubelet that takes up a pod writes its Ready condition. */
const isTakenUp = (text: string | undefined): boolean =>
  text !== undefined &&
  (JSON.parse(text).status?.conditions ?? []).some(({ type }: { type: string }) => type === "Ready");

function uidIn({ body }: Write): string | undefined {
  const { metadata, preconditions } = JSON.parse(body);
  return (metadata ?? preconditions)?.uid;
}

export const isTainted = (taints: readonly string[]): boolean =>
  taints.some((taint) => lifecycleTaints.includes(taint));

/** The taints of the Node version on which a write is based. */
const taintsMeant = (body: string, states: readonly NodeState[] = []): readonly string[] => {
  const { resourceVersion } = JSON.parse(body).metadata ?? {};
  return states.find(({ version }) => version === resourceVersion)?.taints ?? [];
};

function taintsIn(text: string | undefined): readonly string[] {
  const taints = text === undefined ? undefined : JSON.parse(text).spec?.taints;
  return (taints ?? []).map(({ key, effect }: { key: string; effect: string }) => `${key}:${effect}`);
}

function says(body: string, type: string, status: string): boolean {
  const conditions = JSON.parse(body).status?.conditions ?? [];
  return conditions.some((one: { type: string; status: string }) => one.type === type && one.status === status);
}

export const actText = ({ is, board, pod, process, sentAt }: Act): string =>
  `${is} ${pod ?? board} by process ${process} at ${(sentAt / 1000).toFixed(3)}s`;
