import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { isTerminating } from "../../api/pods.ts";
import { nodes, pods } from "../../api/resources.ts";
import { deadline, type Millis, sleep } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { dispositionOf } from "../../base/errors.ts";
import type { JsonRecord } from "../../base/json.ts";
import { ApiError, isNotFound, isOvertaken } from "../../client/api-error.ts";
import { refTo } from "../../execution/actions.ts";
import { type Author, done, type Effect, refused } from "../desk/controls.ts";
import { cordon } from "./board-acts.ts";
import { failed } from "./effects.ts";
import { type ControlParts, tellOf } from "./parts.ts";

export interface DrainOptions {
  readonly timeout: Millis;
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

/** Interval between rounds: retries blocked evictions and checks which pods are gone. */
const round: Millis = 5000;
const pageSize = 100;
const mostNamed = 20;

/**
 * Drains this board as `kubectl drain` does: cordons it, then evicts each pod as disruption budgets allow, until the
 * timeout or a cancellation. Daemon and static pods stay.
 */
export async function drain(
  { options, author, progress, signal, dryRun }: DrainOrder,
  parts: ControlParts,
): Promise<Effect> {
  const { clock } = parts.ambient;
  const board = parts.config.board.node;
  const late = (): Error => new Error(`not empty within ${formatDuration(options.timeout)}`);
  const bound = deadline(clock, options.timeout, signal, late);
  const tally = { evicted: 0, skipped: 0, left: 0 };
  const blocked = new Set<string>();
  const told = (): JsonRecord => ({ board, ...tally, blocked: [...blocked].slice(0, mostNamed) });
  try {
    let found = await podsOn(board, parts, bound.signal);
    const alone = found.leaving.filter((pod) => controllerOf(pod) === undefined).map(keyOf);
    if (alone.length > 0 && !options.force) {
      const message = "pods that nobody makes anew are on the board; force takes them too";
      return refused(409, "unmanaged-pods", message, { board, pods: alone.slice(0, mostNamed) });
    }
    Object.assign(tally, { skipped: found.skipped, left: found.leaving.length });
    if (dryRun) return done({ ...told(), pods: found.leaving.map(keyOf).slice(0, mostNamed) });
    const cordoned = await cordon(undefined, true, author, false, parts);
    if (cordoned.outcome !== "done") return cordoned;
    const node = await again(() => parts.client.get(nodes, { name: board }, bound.signal), bound.signal);
    const about = node && refTo(nodes, node);
    const say = (reason: string, message: string): void => tellOf(parts, about, { reason, message }, author);
    say("BoardDraining", `Node ${board} is drained within ${formatDuration(options.timeout)}`);
    const asked = new Set<string>();
    while (found.leaving.length > 0 && !bound.signal.aborted) {
      blocked.clear();
      for (const pod of found.leaving) {
        if (asked.has(pod.metadata.uid) || isTerminating(pod)) continue;
        const answer = await evict(pod, options, parts, bound.signal);
        if (answer === "blocked") blocked.add(keyOf(pod));
        if (answer !== "evicted") continue;
        asked.add(pod.metadata.uid);
        tally.evicted++;
      }
      progress(told());
      await sleep(clock, round, bound.signal);
      if (bound.signal.aborted) break;
      found = (await again(() => podsOn(board, parts, bound.signal), bound.signal)) ?? found;
      tally.left = found.leaving.length;
    }
    if (tally.left === 0) say("BoardDrained", `Node ${board} drained of ${tally.evicted} pods`);
    else say("BoardNotDrained", `Drain of Node ${board} left ${tally.left} pods there, ordered`);
    if (tally.left === 0) return done(told());
    return unfinished(signal.aborted, blocked.size > 0, told());
  } catch (error) {
    return bound.signal.aborted ? unfinished(signal.aborted, blocked.size > 0, told()) : failed(error, told());
  } finally {
    bound.dispose();
  }
}

/** The board stays cordoned: evicted pods must not return during maintenance. */
function unfinished(isCancelled: boolean, isBlocked: boolean, result: JsonRecord): Effect {
  const failure = { outcome: "failed", result } as const;
  if (isCancelled)
    return { ...failure, code: 499, error: "cancelled", message: "called off; the board stays cordoned" };
  if (isBlocked) return { ...failure, code: 409, error: "pdb-blocked", message: "a disruption budget allows no more" };
  return { ...failure, code: 504, error: "timeout", message: "pods were still there when the time was over" };
}

/** Reads pods from the API: a board that does not lead has no cache of its pods. */
async function podsOn(
  board: string,
  { client }: ControlParts,
  signal: AbortSignal,
): Promise<{ readonly leaving: readonly Pod[]; readonly skipped: number }> {
  const leaving: Pod[] = [];
  let skipped = 0;
  const each = (pod: Pod): void => {
    if (staysWith(pod)) skipped++;
    else leaving.push(pod);
  };
  for (let page: string | undefined = ""; page !== undefined; ) {
    const options = { fieldSelector: `spec.nodeName=${board}`, limit: pageSize, continue: page };
    const answer: { readonly continue: string | undefined } = await client.list(pods, options, each, signal);
    page = answer.continue;
  }
  return { leaving, skipped };
}

/** `undefined`: no answer. A short interruption of the link only delays a drain. */
async function again<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    const disposition = dispositionOf(error);
    if (!signal.aborted && (disposition === "retry" || disposition === "relist")) return undefined;
    throw error;
  }
}

/** The kubelet runs a mirror pod from a file, and a DaemonSet would recreate its pod on this board. */
const staysWith = (pod: Pod): boolean =>
  pod.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined || controllerOf(pod)?.kind === "DaemonSet";

async function evict(
  pod: Pod,
  { gracePeriod }: DrainOptions,
  { client }: ControlParts,
  signal: AbortSignal,
): Promise<"evicted" | "blocked" | "later"> {
  const { name, uid, namespace = "default" } = pod.metadata;
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
