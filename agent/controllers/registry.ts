import { type NodeLifecycleParts, nodeLifecycle } from "./node-lifecycle/controller.ts";
import { nodeTaints } from "./node-lifecycle/node-taints.ts";
import { podReadiness } from "./node-lifecycle/pod-readiness.ts";
import { type TaintEvictionParts, taintEviction } from "./taint-eviction/controller.ts";

export interface ControllerParts {
  readonly nodeLifecycle: NodeLifecycleParts;
  readonly taintEviction: TaintEvictionParts;
}

/** The controllers, one line each. The first three judge boards together: either all of them run or none. */
export const registry = {
  "node-lifecycle": (parts: ControllerParts) => nodeLifecycle(parts.nodeLifecycle),
  "node-taints": () => nodeTaints,
  "pod-readiness": ({ nodeLifecycle: { settings }, taintEviction: { judged } }: ControllerParts) =>
    podReadiness({ settings, judged }),
  "taint-eviction": (parts: ControllerParts) => taintEviction(parts.taintEviction),
} as const;
