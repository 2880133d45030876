import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { isMirror, isTerminating } from "../../api/pods.ts";
import { nodes, pods } from "../../api/resources.ts";
import { deadline, type Millis, sleep } from "../../base/clock.ts";
import { dispositionOf } from "../../base/errors.ts";
import type { JsonRecord } from "../../base/json.ts";
import { formatDuration } from "../../base/time/duration.ts";
import { ApiError, isNotFound, isOvertaken } from "../../client/api-error.ts";
import { refTo } from "../../execution/actions.ts";
import { type Author, done, type Effect, refused } from "../desk/controls.ts";
import { cordon } from "./board-acts.ts";
import { emitCommandEvent, type OperationsDeps } from "./deps.ts";
import { failed } from "./effects.ts";

export interface DrainOptions {
  readonly timeout: Millis;
  /** Seconds that replace the pods' own grace periods; undefined: those apply. */
  readonly gracePeriod?: number;
  /** Also evicts pods without a controller. */
  readonly force: boolean;
}

export interface DrainOrder {
  readonly options: DrainOptions;
  readonly author: Author;
  readonly progress: (done: JsonRecord) => void;
  readonly signal: AbortSignal;
  readonly dryRun: boolean;
}

/** Interval between rounds; each retries blocked evictions and checks which pods are gone. */
const round: Millis = 5000;
const pageSize = 100;
const mostNamed = 20;

/**
 * Drains this board as `kubectl drain` does: cordons it, then evicts each pod as disruption budgets allow, until the
 * timeout or a cancellation. Daemon and static pods stay.
 */
export async function drain(
  { options, author, progress, signal, dryRun }: DrainOrder,
  deps: OperationsDeps,
): Promise<Effect> {
  const { clock } = deps.ambient;
  const board = deps.config.board.node;
  const late = (): Error => new Error(`not drained within ${formatDuration(options.timeout)}`);
  const bound = deadline(clock, options.timeout, signal, late);
  const tally = { evicted: 0, skipped: 0, left: 0 };
  const blocked = new Set<string>();
  const report = (): JsonRecord => ({ board, ...tally, blocked: [...blocked].slice(0, mostNamed) });
  try {
    let found = await podsOn(board, deps, bound.signal);
    const alone = found.leaving.filter(({ isManaged }) => !isManaged).map(({ key }) => key);
    if (alone.length > 0 && !options.force) {
      const message = "the board has pods that no controller recreates; force deletes them too";
      return refused(409, "unmanaged-pods", message, { board, pods: alone.slice(0, mostNamed) });
    }
    Object.assign(tally, { skipped: found.skipped, left: found.leaving.length });
    if (dryRun) return done({ ...report(), pods: found.leaving.slice(0, mostNamed).map(({ key }) => key) });
    const cordoned = await cordon(undefined, true, author, false, deps);
    if (cordoned.outcome !== "done") return cordoned;
    const node = await ifReachable(() => deps.client.get(nodes, { name: board }, bound.signal), bound.signal);
    const about = node && refTo(nodes, node);
    const event = (reason: string, message: string): void => emitCommandEvent(deps, about, { reason, message }, author);
    event("BoardDraining", `Draining Node ${board} within ${formatDuration(options.timeout)}`);
    const evicting = new Set<string>();
    while (found.leaving.length > 0 && !bound.signal.aborted) {
      blocked.clear();
      for (const pod of found.leaving) {
        if (evicting.has(pod.uid) || pod.isTerminating) continue;
        const answer = await evict(pod, options, deps, bound.signal);
        if (answer === "blocked") blocked.add(pod.key);
        if (answer !== "evicted") continue;
        evicting.add(pod.uid);
        tally.evicted++;
      }
      progress(report());
      await sleep(clock, round, bound.signal);
      if (bound.signal.aborted) break;
      found = (await ifReachable(() => podsOn(board, deps, bound.signal), bound.signal)) ?? found;
      tally.left = found.leaving.length;
    }
    if (tally.left === 0) event("BoardDrained", `Node ${board} drained, ${tally.evicted} pods evicted`);
    else event("BoardNotDrained", `Node ${board} not drained, ${tally.left} pods left; drain requested`);
    if (tally.left === 0) return done(report());
    return unfinished(signal.aborted, blocked.size > 0, report());
  } catch (error) {
    return bound.signal.aborted ? unfinished(signal.aborted, blocked.size > 0, report()) : failed(error, report());
  } finally {
    bound.dispose();
  }
}

/** The effect of a drain that left pods. The board stays cordoned: evicted pods must not return during maintenance. */
function unfinished(isCancelled: boolean, isBlocked: boolean, result: JsonRecord): Effect {
  const failure = { outcome: "failed", result } as const;
  if (isCancelled) return { ...failure, code: 499, error: "cancelled", message: "cancelled; the board stays cordoned" };
  if (isBlocked)
    return { ...failure, code: 409, error: "pdb-blocked", message: "a disruption budget allows no further evictions" };
  return { ...failure, code: 504, error: "timeout", message: "pods were left at the timeout" };
}

/**
 * The parts of a pod that a drain remembers. Whole pods, which may be of any size, are never held in memory together.
 */
interface Leaving {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly isTerminating: boolean;
  /** A controller recreates the pod elsewhere. */
  readonly isManaged: boolean;
}

const leavingOf = (pod: Pod): Leaving => {
  const { name, uid, namespace = "default" } = pod.metadata;
  const isManaged = controllerOf(pod) !== undefined;
  return { key: keyOf(pod), namespace, name, uid, isTerminating: isTerminating(pod), isManaged };
};

/** The board's pods, read from the API: a board that does not lead has no cache of them. `skipped`: pods that stay. */
async function podsOn(
  board: string,
  { client }: OperationsDeps,
  signal: AbortSignal,
): Promise<{ readonly leaving: readonly Leaving[]; readonly skipped: number }> {
  const leaving: Leaving[] = [];
  let skipped = 0;
  const each = (pod: Pod): void => {
    if (staysWith(pod)) skipped++;
    else leaving.push(leavingOf(pod));
  };
  for (let page: string | undefined = ""; page !== undefined; ) {
    const options = { fieldSelector: `spec.nodeName=${board}`, limit: pageSize, continue: page };
    const answer: { readonly continue: string | undefined } = await client.list(pods, options, each, signal);
    page = answer.continue;
  }
  return { leaving, skipped };
}

/** Returns undefined instead of failing while the link is interrupted: that only delays a drain. */
async function ifReachable<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const disposition = dispositionOf(error);
    if (!signal.aborted && (disposition === "retry" || disposition === "relist")) return undefined;
    throw error;
  }
}

/**
 * Whether a drain skips the pod: mirror pods are run by the kubelet from files, and a DaemonSet would recreate its pod
 * here.
 */
const staysWith = (pod: Pod): boolean => isMirror(pod) || controllerOf(pod)?.kind === "DaemonSet";

async function evict(
  { namespace, name, uid }: Leaving,
  { gracePeriod }: DrainOptions,
  { client }: OperationsDeps,
  signal: AbortSignal,
): Promise<"evicted" | "blocked" | "later"> {
  try {
    await client.evict({ namespace, name }, { uid, gracePeriodSeconds: gracePeriod }, { signal });
    return "evicted";
  } catch (error) {
    if (isNotFound(error) || isOvertaken(error)) return "later";
    if (error instanceof ApiError && error.status === 429) return "blocked";
    if (!signal.aborted && dispositionOf(error) === "retry") return "later";
    throw error;
  }
}
