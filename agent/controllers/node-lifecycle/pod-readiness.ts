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
  /** What the monitor remembers of a board; by nobody: nothing judges boards here. */
  readonly judged: (board: string) => BoardRecord | "by nobody" | undefined;
}

/**
 * Marks a pod not ready that came to a board which is not ready already: under policy `kubernetes` one that the last
 * monitor pass left not ready, whatever its kubelet said since.
 *
 * The evidence asks the Ready condition that the API shows: the monitor writes its opinion there before it acts on it, so
 * the two differ for a moment only, and in that moment the monitor itself marks the pods of the board.
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
  // After a gap the pod may be of today and the word of its board of yesterday.
  if (!link.live || heldUntil(link, gracePeriod, now)) return { ...idle, requeueAfter: recheck };
  if (ready === "False") return { ...idle, actions: markNotReady(pod, undefined, now) };
  const cause = { board, verdict: "unproven", rule: "came to a board that is Unknown" };
  return { ...idle, actions: markNotReady(pod, cause, now) };
}

/**
 * Only a pod that was bound just now, or that appears on a board. One that has been there before us is the monitor's, or
 * its living kubelet's. Most pods come to a board that is ready.
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
