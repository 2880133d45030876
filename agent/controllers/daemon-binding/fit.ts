import type { Node, Pod } from "../../api/core.ts";
import { isSelected } from "../../api/node-affinity.ts";
import { quantity } from "../../api/quantity.ts";
import { taintsOf, tolerates } from "../../api/taints.ts";
import { type Amounts, collide, type HostPort, needsOf, type PodNeeds, sum } from "./pod-needs.ts";

/** Capacity of a board that its pods use. */
export interface Taken {
  readonly pods: number;
  readonly resources: Amounts;
  readonly ports: readonly HostPort[];
}

export const nothingTaken: Taken = { pods: 0, resources: new Map(), ports: [] };

export const takenWith = ({ pods, resources, ports }: Taken, needs: PodNeeds): Taken => ({
  pods: pods + 1,
  resources: sum(resources, needs.resources),
  ports: [...ports, ...needs.ports],
});

/** Reasons why a pod does not fit on a board, in kube-scheduler's wording; empty: it fits. */
export function refusals(pod: Pod, node: Node, taken: Taken): readonly string[] {
  const tolerations = pod.spec?.tolerations ?? [];
  const refusing = taintsOf(node).filter(
    (taint) => taint.effect !== "PreferNoSchedule" && !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
  const { resources, ports } = needsOf(pod);
  const allocatable = (name: string): bigint => quantity(node.status?.allocatable?.[name]) ?? 0n;
  const lacking = [...resources].filter(
    ([name, amount]) => amount > 0n && amount + (taken.resources.get(name) ?? 0n) > allocatable(name),
  );
  return [
    ...(isSelected(pod.spec ?? {}, node) ? [] : ["node didn't match Pod's node affinity/selector"]),
    ...refusing.map(({ key, value }) => `node had untolerated taint(s) {${key}: ${value ?? ""}}`),
    ...(ports.some((port) => taken.ports.some((other) => collide(port, other)))
      ? ["node didn't have free ports for the requested pod ports"]
      : []),
    ...(BigInt(taken.pods + 1) * unit > allocatable("pods") ? ["Too many pods"] : []),
    ...lacking.map(([name]) => `Insufficient ${name}`),
  ];
}

const unit = 10n ** 9n;
