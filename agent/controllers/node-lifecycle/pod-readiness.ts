import type { Node, Pod } from "../../api/core.ts";
import { boardOf } from "../../api/pods.ts";
import { leases, nodes, pods } from "../../api/resources.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { heldUntil, type Link, linkOf } from "../../judgement/link.ts";
import { type Controller, type Decision, type Seen, type SiteView, wakeOnChange } from "../../loop/controller.ts";
import { readyOf } from "./health.ts";
import type { BoardRecord } from "./memory.ts";
import { countsAsReady, markNotReady } from "./pods-not-ready.ts";
import type { NodeLifecycleSettings } from "./settings.ts";

export interface PodReadinessParts {
  readonly settings: Pick<NodeLifecycleSettings, "policy" | "gracePeriod" | "stall" | "blip">;
  /** The monitor's record of a board; "by nobody": no controller judges boards here. */
  readonly judged: (board: string) => BoardRecord | "by nobody" | undefined;
}

/**
 * Marks a pod not ready that arrives on a board which is not ready. Under policy `kubernetes` the board's state is that
 * of the last monitor pass, whatever its kubelet reported since.
 *
 * Policy `evidence` uses the Ready condition in the API. The monitor writes its opinion there before it acts on it, so
 * the two differ only for a moment, in which the monitor itself marks the pods of the board.
 */
export function podReadiness({ settings, judged }: PodReadinessParts): Controller<NewPod, undefined> {
  const readinessOf = (node: Node): string | undefined => {
    const record = settings.policy === "kubernetes" ? judged(node.metadata.name) : "by nobody";
    return record === "by nobody" ? readyOf(node)?.status : record?.ready;
  };
  return {
    name: "pod-readiness",
    reads: [nodes, pods],
    restsOn: [nodes],
    wakes: [wakeOnChange(pods, (change, site) => keysOfNew(change, site, readinessOf))],
    initialMemory: undefined,
    observe(key, site) {
      const pod = site.lister(pods).get(key);
      const node = pod && nodeOf(pod, site);
      const ready = node && readinessOf(node);
      if (pod === undefined || node === undefined || ready === undefined) return undefined;
      if (ready === "True" || !countsAsReady(pod)) return undefined;
      const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
      return { pod, board: node.metadata.name, ready, link };
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
}

/** How soon a pod that is held back is checked again. */
const recheck: Millis = 5000;

export function decidePodReadiness(
  { pod, board, ready, link }: NewPod,
  gracePeriod: Millis,
  now: Instant,
): Decision<undefined> {
  const idle = { actions: [], memory: undefined };
  // After a gap the pod may be newer than the status of its board.
  if (!link.live || heldUntil(link, gracePeriod, now)) return { ...idle, requeueAfter: recheck };
  if (ready === "False") return { ...idle, actions: markNotReady(pod, undefined, now) };
  const cause = { board, verdict: "unproven", rule: "came to a board that is Unknown" };
  return { ...idle, actions: markNotReady(pod, cause, now) };
}

/**
 * Only pods that were just bound or that newly appear on a board that is not ready. Older pods belong to the monitor,
 * or to a living kubelet.
 */
function keysOfNew(
  { key, before, after }: Seen<Pod>,
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
