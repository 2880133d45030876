import type { Node, Pod } from "../../api/core.ts";
import { boardOf } from "../../api/pods.ts";
import { leases, nodes, pods } from "../../api/resources.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { heldUntil, type Link, linkOf } from "../../judgement/link.ts";
import { type Controller, type Decision, type Seen, type SiteView, wake } from "../../runtime/controller.ts";
import { readyOf } from "./health.ts";
import { countsAsReady, markNotReady } from "./pods-not-ready.ts";
import type { NodeLifecycleSettings } from "./settings.ts";

/**
 * Marks a pod not ready that came to a board which is not ready already.
 *
 * The monitor's own opinion of the board lives in the memory of another controller. Its stand-in is the Ready condition
 * that the API shows: the monitor writes its opinion there before it acts on it, so the two differ for a moment only,
 * and in that moment the monitor itself marks the pods of the board.
 */
export const podReadiness = (
  settings: Pick<NodeLifecycleSettings, "gracePeriod" | "stall" | "blip">,
): Controller<NewPod, undefined> => ({
  name: "pod-readiness",
  reads: [nodes, pods],
  wakes: [wake(pods, keysOfNew)],
  initialMemory: undefined,
  observe(key, site) {
    const pod = site.lister(pods).get(key);
    const node = pod && nodeOf(pod, site);
    const ready = node && readyOf(node)?.status;
    if (pod === undefined || node === undefined || ready === undefined) return undefined;
    if (ready === "True" || !countsAsReady(pod)) return undefined;
    const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
    return { pod, board: node.metadata.name, ready, link };
  },
  decide: (state, _memory, now) => decidePodReadiness(state, settings.gracePeriod, now),
});

export interface NewPod {
  readonly pod: Pod;
  readonly board: string;
  /** Status of the board's Ready condition: not True. */
  readonly ready: string;
  readonly link: Link;
}

/** How soon a pod that is held back is looked at again. */
const recheck: Millis = 5000;

export function decidePodReadiness(
  { pod, board, ready, link }: NewPod,
  gracePeriod: Millis,
  now: Instant,
): Decision<undefined> {
  const idle = { actions: [], memory: undefined };
  if (ready === "False") return { ...idle, actions: markNotReady(pod, undefined, now) };
  if (!link.live || heldUntil(link, gracePeriod, now)) return { ...idle, requeueAfter: recheck };
  const cause = { board, verdict: "unproven", rule: "came to a board that is Unknown" };
  return { ...idle, actions: markNotReady(pod, cause, now) };
}

/**
 * Only a pod that was bound just now. One that is seen for the first time has no Ready condition yet, or has been there
 * before us: then it is the monitor's, or its living kubelet's. Most pods come to a board that is ready.
 */
function keysOfNew({ key, before, after }: Seen<Pod>, site: SiteView): readonly string[] {
  if (after === undefined) return [key];
  if (before === undefined || before.metadata.uid !== after.metadata.uid) return [];
  if (boardOf(before) === boardOf(after)) return [];
  const node = nodeOf(after, site);
  const ready = node && readyOf(node)?.status;
  return ready === undefined || ready === "True" ? [] : [key];
}

function nodeOf(pod: Pod, site: SiteView): Node | undefined {
  const board = boardOf(pod);
  return board === undefined ? undefined : site.lister(nodes).get(board);
}
