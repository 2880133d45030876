import type { Node, Pod } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";
import { pods as podResource } from "../../api/resources.ts";
import { timestamp } from "../../api/timestamps.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import { inTextOrder } from "../../base/text/text-order.ts";
import { type Action, anyStateOf, type ObjectRef, type Outcome, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { barePod } from "../bare-pod.ts";
import { setCondition } from "../set-condition.ts";
import { lacking, neededOn, type UsedCapacity, unschedulableReasons } from "./fit.ts";
import { needsOf, type PodNeeds } from "./pod-needs.ts";

/** A board with daemon pods that were created for it and are not bound yet. */
export interface BoardState {
  readonly node: Node;
  /** The capacity that the pods bound to the board use. */
  readonly taken: UsedCapacity;
  readonly waiting: readonly WaitingPod[];
}

/** Only those parts of an unbound pod that a pass needs, because a tenant's pods may be many and large. */
export interface WaitingPod {
  readonly pod: Pod;
  readonly needs: PodNeeds;
  /** Why the pod can never run on the board; empty if it can. */
  readonly unsuited: readonly string[];
}

/** Maximum number of host ports of a pod; a pod with more is not bound. */
const maxPorts = 1000;

export function waitingPod(pod: Pod, node: Node): WaitingPod {
  const { creationTimestamp } = pod.metadata;
  const bare = barePod(pod);
  const needs = neededOn(node, needsOf(pod));
  const isTooMuch = needs.ports.length > maxPorts;
  return {
    pod: { ...bare, metadata: { ...bare.metadata, ...(creationTimestamp !== undefined && { creationTimestamp }) } },
    needs: isTooMuch ? { ...needs, ports: [] } : needs,
    unsuited: [...unschedulableReasons(pod, node), ...(isTooMuch ? [`more than ${maxPorts} host ports`] : [])],
  };
}

/** The uids of pods that we bound and that are not bound in the cache yet. */
export type BoundPods = ReadonlySet<string>;

/** How soon a pod that does not fit is retried, because capacity may become free without a change that we watch. */
const recheck: Millis = 10_000;

export const decide = (state: BoardState, bound: BoundPods, now: Instant): Decision<BoundPods> =>
  atOnce(decideInSteps(state, bound, now));

/** Decides in steps, because each waiting pod may have a thousand host ports. */
export function* decideInSteps(state: BoardState, bound: BoundPods, now: Instant): Steps<Decision<BoundPods>> {
  const { node } = state;
  const justBound = state.waiting.filter(({ pod }) => bound.has(pod.metadata.uid));
  const open = state.waiting.filter(({ pod }) => !bound.has(pod.metadata.uid)).toSorted(byAge);
  const actions: Action[] = [];
  const taken = state.taken.copy();
  for (const { needs } of justBound) taken.add(needs);
  for (const { pod, needs, unsuited: never } of open) {
    yield;
    const why = [...never, ...lacking(needs, node, taken)];
    if (why.length === 0) {
      taken.add(needs);
      actions.push({ do: "bind", target: targetOf(pod), board: node.metadata.name }, assigned(pod, node));
    } else actions.push(...explained(pod, why.join(", "), now));
  }
  const memory = new Set(justBound.map(({ pod }) => pod.metadata.uid));
  return { actions, memory, ...(state.waiting.length > 0 && { requeueAfter: recheck }) };
}

/**
 * Remembers the pods bound by this pass, because they use capacity and must not be bound again until the cache shows
 * them as bound.
 */
export function decideAfterWrites(decision: Decision<BoundPods>, outcomes: readonly Outcome[]): Decision<BoundPods> {
  const bound = outcomes.flatMap(({ ok, action }) => (ok && action.do === "bind" ? [action.target.uid] : []));
  return { ...decision, actions: [], memory: new Set([...decision.memory, ...bound]) };
}

/** Sorts the oldest pods first, and pods of the same age by name. */
const byAge = ({ pod: { metadata: a } }: WaitingPod, { pod: { metadata: b } }: WaitingPod): number =>
  inTextOrder(a.creationTimestamp ?? "", b.creationTimestamp ?? "") || inTextOrder(a.name, b.name);

function assigned(pod: Pod, node: Node): Action {
  const { namespace, name } = pod.metadata;
  return {
    do: "event",
    about: targetOf(pod),
    severity: "Normal",
    reason: "Scheduled",
    message: `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`,
  };
}

/**
 * Reports why the pod is not bound, as a scheduler does: by the PodScheduled condition and an Event. Writes nothing as
 * long as the reason remains the same.
 */
function explained(pod: Pod, message: string, now: Instant): readonly Action[] {
  const before = podCondition(pod, "PodScheduled");
  if (before?.status === "False" && before.message === message) return [];
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message,
    lastTransitionTime: (before?.status === "False" && before.lastTransitionTime) || timestamp(now),
  };
  return [
    setCondition(targetOf(pod), condition),
    { do: "event", about: targetOf(pod), severity: "Warning", reason: "FailedScheduling", message },
  ];
}

const targetOf = (pod: Pod): ObjectRef => anyStateOf(refTo(podResource, pod));
