import type { Node, Pod } from "../../api/core.ts";
import { pinnedTo } from "../../api/node-affinity.ts";
import { controllerOf } from "../../api/owners.ts";
import { boardOf, isFinished, isTerminating } from "../../api/pods.ts";
import { daemonSets, nodes, pods } from "../../api/resources.ts";
import { type Controller, type Seen, type SiteView, wake } from "../../loop/controller.ts";
import { workloadReads } from "../workloads.ts";
import { type BoardState, type BoundPods, decide, remember } from "./decide.ts";
import { nothingTaken, takenWith } from "./fit.ts";
import { needsOf } from "./pod-needs.ts";

/**
 * Binds daemon pods to the boards that they were made for if they fit, on sites without a kube-scheduler. Keys are
 * boards, so that no capacity is given to two pods.
 */
export const daemonBinding: Controller<BoardState, BoundPods> = {
  name: "daemon-binding",
  reads: workloadReads["daemon-binding"],
  restsOn: [nodes, pods],
  wakes: [wake(pods, boardsOfPod), wake(nodes, boardItself)],
  initialMemory: new Set(),
  observe(board, site) {
    const node = site.lister(nodes).get(board);
    const waiting = [...site.lister(pods).byIndex("byPin", board)].filter((pod) => isOurs(pod, site));
    if (node === undefined || waiting.length === 0) return undefined;
    let taken = nothingTaken;
    for (const pod of site.lister(pods).byIndex("byNode", board)) {
      if (!isFinished(pod)) taken = takenWith(taken, needsOf(pod));
    }
    return { node, taken, waiting };
  },
  decide,
  remember,
};

/**
 * A pod of this site's DaemonSets that names the default scheduler, is not finished, and has no scheduling gates left.
 */
function isOurs(pod: Pod, site: SiteView): boolean {
  const gates = pod.spec?.schedulingGates ?? [];
  return isOfOurSet(pod, site) && gates.length === 0 && !isTerminating(pod) && !isFinished(pod);
}

function isOfOurSet(pod: Pod, site: SiteView): boolean {
  const owner = controllerOf(pod);
  if (owner?.kind !== daemonSets.kind) return false;
  const set = site.lister(daemonSets).get(`${pod.metadata.namespace}/${owner.name}`);
  const { schedulerName = usual } = set?.spec?.template.spec ?? {};
  return set?.metadata.uid === owner.uid && schedulerName === usual;
}

/** Pods that name another scheduler are left to it. */
const usual = "default-scheduler";

/** The board that a pod waits for, and the board that a finished or deleted pod leaves if others wait for it. */
function* boardsOfPod({ before, after }: Seen<Pod>, site: SiteView): Generator<string> {
  const pin = after && boardOf(after) === undefined ? pinnedTo(after.spec?.affinity) : undefined;
  if (pin !== undefined) yield pin;
  const left = before && boardOf(before);
  const isOver = after === undefined || isFinished(after);
  if (left !== undefined && isOver && !site.lister(pods).byIndex("byPin", left).next().done) yield left;
}

function* boardItself({ key, after }: Seen<Node>, site: SiteView): Generator<string> {
  if (after !== undefined && !site.lister(pods).byIndex("byPin", key).next().done) yield key;
}
