import type { Node, Pod } from "../../api/core.ts";
import { boardOf, countsAsReady } from "../../api/pods.ts";
import { leases, nodes, pods } from "../../api/resources.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { refTo } from "../../execution/actions.ts";
import { type Link, latestQuarantineEnd, linkOf } from "../../judgement/link.ts";
import { isWitnessed } from "../../judgement/verdict.ts";
import {
  type Controller,
  type Decision,
  enqueueOnChange,
  type ObjectChange,
  type SiteView,
} from "../../loop/controller.ts";
import { isOwn, readyOf } from "./health.ts";
import type { BoardRecord } from "./memory.ts";
import { markNotReady } from "./pods-not-ready.ts";
import type { NodeLifecycleSettings } from "./settings.ts";

export interface PodReadinessDeps {
  readonly settings: Pick<NodeLifecycleSettings, "policy" | "ownNode" | "gracePeriod" | "stall" | "blip">;
  /**
   * The node lifecycle controller's record of a board; undefined if there is none yet, "no judge" if that controller is
   * turned off.
   */
  readonly recordOf: (board: string) => BoardRecord | "no judge" | undefined;
}

/**
 * Marks pods that arrive on an unready board as not ready. Under policy `kubernetes`, the board's state is that of the
 * last monitor pass, regardless of what its kubelet has reported since.
 *
 * Policy `evidence` uses the Ready condition in the API. A monitor pass writes its result there before acting on it, so
 * the two differ only briefly, while the pass itself marks the board's pods.
 */
export function podReadiness({ settings, recordOf }: PodReadinessDeps): Controller<NewPod, undefined> {
  const readinessOf = (node: Node): string | undefined => {
    const record = settings.policy === "kubernetes" ? recordOf(node.metadata.name) : "no judge";
    return record === "no judge" ? readyOf(node)?.status : record?.ready;
  };
  return {
    name: "pod-readiness",
    reads: [nodes, pods],
    restsOn: [nodes],
    mappings: [enqueueOnChange(pods, (change, site) => keysOfNew(change, site, readinessOf))],
    initialMemory: undefined,
    observe(key, site) {
      const pod = site.lister(pods).get(key);
      const node = pod && nodeOf(pod, site);
      const ready = node && readinessOf(node);
      if (pod === undefined || node === undefined || ready === undefined) return undefined;
      if (ready === "True" || !countsAsReady(pod)) return undefined;
      if (ready !== "False" && isOwn(node, settings)) return undefined;
      const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
      const board = node.metadata.name;
      const record = recordOf(board);
      const verdict = record === undefined || record === "no judge" ? undefined : record.verdict;
      const isHeld = ready !== "False" && verdict !== undefined && (isWitnessed(verdict) || verdict.held === true);
      return { pod, board, ready, link, isHeld };
    },
    decide: (state, _memory, now) => decidePodReadiness(state, settings.gracePeriod, now),
  };
}

export interface NewPod {
  readonly pod: Pod;
  readonly board: string;
  /** Status of the board's Ready condition; never True. */
  readonly ready: string;
  readonly link: Link;
  /** A witness shows that the silent board runs. */
  readonly isHeld: boolean;
}

/** How soon a pod that must not be marked now is checked again. */
const recheck: Millis = 5000;

function decidePodReadiness(
  { pod, board, ready, link, isHeld }: NewPod,
  gracePeriod: Millis,
  now: Instant,
): Decision<undefined> {
  const idle = { actions: [], memory: undefined };
  // After an outage, the cached pod may be newer than the cached status of its board.
  if (isHeld || !link.live || latestQuarantineEnd(link, gracePeriod, now)) return { ...idle, requeueAfter: recheck };
  if (ready === "False") return { ...idle, actions: markNotReady(refTo(pods, pod), undefined, now) };
  const cause = { board, verdict: "unproven", rule: "the pod arrived on a board whose Ready condition is Unknown" };
  return { ...idle, actions: markNotReady(refTo(pods, pod), cause, now) };
}

/**
 * Keys of pods that were deleted, were just bound to a board that is not ready, or just appeared on one. Older pods are
 * marked by the monitor pass or by a running kubelet.
 */
function keysOfNew(
  { key, before, after }: ObjectChange<Pod>,
  site: SiteView,
  readinessOf: (node: Node) => string | undefined,
): readonly string[] {
  if (after === undefined) return [key];
  if (before?.metadata.uid === after.metadata.uid && boardOf(before) === boardOf(after)) return [];
  const node = nodeOf(after, site);
  const ready = node && readinessOf(node);
  return ready === undefined || ready === "True" ? [] : [key];
}

function nodeOf(pod: Pod, site: SiteView): Node | undefined {
  const board = boardOf(pod);
  return board === undefined ? undefined : site.lister(nodes).get(board);
}
