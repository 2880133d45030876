import type { Node, Pod } from "../../api/core.ts";
import { pinnedTo } from "../../api/node-affinity.ts";
import { controllerOf } from "../../api/owners.ts";
import { boardOf, isFinished, isTerminating } from "../../api/pods.ts";
import { daemonSets, nodes, pods } from "../../api/resources.ts";
import type { Steps } from "../../base/steps.ts";
import { type Controller, enqueueOn, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import { workloadReads } from "../workloads.ts";
import {
  type BoardState,
  type BoundPods,
  decide,
  decideAfterWrites,
  decideInSteps,
  type WaitingPod,
  waitingPod,
} from "./decide.ts";
import { keyOfPort, neededOn, UsedCapacity } from "./fit.ts";
import { needsOf } from "./pod-needs.ts";

/**
 * Binds daemon pods to the boards that they were created for, if they fit, on sites without a kube-scheduler. A key is
 * a board, so that one pass assigns all of its capacity.
 */
export const daemonBinding: Controller<BoardState, BoundPods> = {
  name: "daemon-binding",
  reads: workloadReads["daemon-binding"],
  restsOn: [nodes, pods],
  mappings: [enqueueOn(pods, boardsOfPod), enqueueOn(nodes, boardItself)],
  initialMemory: new Set(),
  async observe(board, site) {
    const node = site.lister(nodes).get(board);
    if (node === undefined) return undefined;
    const waiting = await site.inTurns(waitingFor(node, site));
    if (waiting.length === 0) return undefined;
    return { node, taken: await site.inTurns(usedOn(node, waiting, site)), waiting };
  },
  decide,
  decideInSteps,
  decideAfterWrites,
};

function* waitingFor(node: Node, site: SiteView): Steps<readonly WaitingPod[]> {
  const waiting: WaitingPod[] = [];
  for (const pod of site.lister(pods).byIndex("byPin", node.metadata.name)) {
    if (isOurs(pod, site)) waiting.push(waitingPod(pod, node));
    yield;
  }
  return waiting;
}

/**
 * The capacity that the board's pods use, including only those ports that a waiting pod needs. Read after the waiting
 * pods, so that a pod bound between the two reads counts twice rather than not at all.
 */
function* usedOn(node: Node, waiting: readonly WaitingPod[], site: SiteView): Steps<UsedCapacity> {
  const wanted = new Set(waiting.flatMap(({ needs }) => needs.ports.map(keyOfPort)));
  const taken = new UsedCapacity();
  for (const pod of site.lister(pods).byIndex("byNode", node.metadata.name)) {
    if (!isFinished(pod)) {
      const { resources, ports } = neededOn(node, needsOf(pod));
      taken.add({ resources, ports: ports.filter((port) => wanted.has(keyOfPort(port))) });
    }
    yield;
  }
  return taken;
}

/**
 * Whether this controller binds the pod: it belongs to a DaemonSet with the default scheduler, and may be scheduled.
 */
function isOurs(pod: Pod, site: SiteView): boolean {
  const gates = pod.spec?.schedulingGates ?? [];
  return isOfOurSet(pod, site) && gates.length === 0 && !isTerminating(pod) && !isFinished(pod);
}

function isOfOurSet(pod: Pod, site: SiteView): boolean {
  const owner = controllerOf(pod);
  if (owner?.kind !== daemonSets.kind) return false;
  const set = site.lister(daemonSets).get(`${pod.metadata.namespace}/${owner.name}`);
  const { schedulerName = defaultScheduler } = set?.spec?.template.spec ?? {};
  return set?.metadata.uid === owner.uid && schedulerName === defaultScheduler;
}

/** Only pods with this scheduler name are bound here. */
const defaultScheduler = "default-scheduler";

/**
 * The board that the pod waits for. For a pod that has finished or was deleted: the board on which it frees capacity,
 * if other pods wait for that board.
 */
function* boardsOfPod({ before, after }: ObjectChange<Pod>, site: SiteView): Generator<string> {
  const pin = after && boardOf(after) === undefined ? pinnedTo(after.spec?.affinity) : undefined;
  if (pin !== undefined) yield pin;
  const left = before && boardOf(before);
  const isOver = after === undefined || isFinished(after);
  if (left !== undefined && isOver && !site.lister(pods).byIndex("byPin", left).next().done) yield left;
}

function* boardItself({ key, after }: ObjectChange<Node>, site: SiteView): Generator<string> {
  if (after !== undefined && !site.lister(pods).byIndex("byPin", key).next().done) yield key;
}
