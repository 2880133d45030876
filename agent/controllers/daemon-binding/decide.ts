import type { Node, Pod } from "../../api/core.ts";
import { podCondition } from "../../api/pods.ts";
import { pods as podResource } from "../../api/resources.ts";
import { timestamp } from "../../api/timestamps.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { type Action, anyStateOf, type ObjectRef, type Outcome, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { refusals, type Taken, takenWith } from "./fit.ts";
import { needsOf } from "./pod-needs.ts";

/** A board with daemon pods that are made for it and not bound yet. */
export interface BoardState {
  readonly node: Node;
  /** Capacity used by the pods bound to it. */
  readonly taken: Taken;
  readonly waiting: readonly Pod[];
}

/** uids of pods that we bound and that the cache does not show as bound yet. */
export type BoundPods = ReadonlySet<string>;

/** How soon a pod that does not fit is tried again: capacity may become free without a change that we watch. */
const recheck: Millis = 10_000;

export function decide(state: BoardState, bound: BoundPods, now: Instant): Decision<BoundPods> {
  const { node } = state;
  const onTheWay = state.waiting.filter(({ metadata }) => bound.has(metadata.uid));
  const open = state.waiting.filter(({ metadata }) => !bound.has(metadata.uid)).toSorted(inTurn);
  const actions: Action[] = [];
  let taken = onTheWay.reduce((all, pod) => takenWith(all, needsOf(pod)), state.taken);
  for (const pod of open) {
    const why = refusals(pod, node, taken);
    if (why.length === 0) {
      taken = takenWith(taken, needsOf(pod));
      actions.push({ do: "bind", target: targetOf(pod), board: node.metadata.name }, assigned(pod, node));
    } else actions.push(...explained(pod, why.join(", "), now));
  }
  const memory = new Set(onTheWay.map(({ metadata }) => metadata.uid));
  return { actions, memory, ...(state.waiting.length > 0 && { requeueAfter: recheck }) };
}

/** Remembers bound pods while the cache is behind: they use capacity and are not bound again. */
export function remember(decision: Decision<BoundPods>, outcomes: readonly Outcome[]): Decision<BoundPods> {
  const bound = outcomes.flatMap(({ ok, action }) => (ok && action.do === "bind" ? [action.target.uid] : []));
  return { ...decision, actions: [], memory: new Set([...decision.memory, ...bound]) };
}

/** The oldest first. */
function inTurn({ metadata: a }: Pod, { metadata: b }: Pod): number {
  const [first = "", second = ""] = [a.creationTimestamp, b.creationTimestamp];
  return first === second ? (a.name < b.name ? -1 : 1) : first < second ? -1 : 1;
}

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

/** Written once for each reason, as condition and event, where a scheduler would have written it. */
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
    {
      do: "patch",
      target: targetOf(pod),
      type: "strategic",
      patch: { status: { conditions: [condition] } },
      subresource: "status",
    },
    { do: "event", about: targetOf(pod), severity: "Warning", reason: "FailedScheduling", message },
  ];
}

const targetOf = (pod: Pod): ObjectRef => anyStateOf(refTo(podResource, pod));
