import type { Config } from "../config/settings.ts";
import type { Controller } from "../loop/controller.ts";
import type { BoardVerdictDeps } from "./board-verdicts.ts";
import { daemonBinding } from "./daemon-binding/controller.ts";
import { daemonSet } from "./daemonset/controller.ts";
import { endpointSlicesOfServices } from "./endpoint-slice/controller.ts";
import { endpointSliceMirroring } from "./endpoint-slice-mirroring/controller.ts";
import { endpointsOfServices } from "./endpoints/controller.ts";
import { type NodeLifecycleDeps, nodeLifecycle } from "./node-lifecycle/controller.ts";
import { nodeTaints } from "./node-lifecycle/node-taints.ts";
import { outOfServiceBoards } from "./node-lifecycle/out-of-service/controller.ts";
import { podReadiness } from "./node-lifecycle/pod-readiness.ts";
import { type PodGcDeps, podGC } from "./pod-gc/controller.ts";
import { type TaintEvictionDeps, taintEviction } from "./taint-eviction/controller.ts";
import type { WorkloadName } from "./workloads.ts";

export interface ControllerDeps {
  readonly nodeLifecycle: NodeLifecycleDeps;
  readonly taintEviction: TaintEvictionDeps;
  readonly podGC: PodGcDeps;
}

/** The dependencies of the named controllers. */
type Of<Name extends keyof ControllerDeps> = Pick<ControllerDeps, Name>;

/** The controllers of boards, one entry each. */
export const registry = {
  "node-lifecycle": (deps: Of<"nodeLifecycle">) => nodeLifecycle(deps.nodeLifecycle),
  "node-taints": () => nodeTaints,
  "out-of-service": ({ nodeLifecycle: deps }: Of<"nodeLifecycle">) => outOfServiceBoards(deps),
  "pod-readiness": ({
    nodeLifecycle: { settings },
    taintEviction: { recordOf },
  }: Of<"nodeLifecycle" | "taintEviction">) => podReadiness({ settings, recordOf }),
  "taint-eviction": (deps: Of<"taintEviction">) => taintEviction(deps.taintEviction),
  "pod-gc": (deps: Of<"podGC">) => podGC(deps.podGC),
} as const;

/** The controllers of workloads, one entry each. Their reads and settings are in workloads.ts. */
export const workloadRegistry: Readonly<Record<WorkloadName, (deps: WorkloadDeps) => WorkloadController>> = {
  daemonset: ({ config, verdictDeps }) => workload(daemonSet({ verdictDeps }), config.daemonSet.workers),
  "daemon-binding": ({ config }) => workload(daemonBinding, config.daemonSet.workers),
  endpoints: ({ config: { endpoints }, verdictDeps }) =>
    workload(endpointsOfServices({ verdictDeps, batch: endpoints.batch }), endpoints.workers),
  "endpoint-slice": ({ config: { endpoints }, verdictDeps }) =>
    workload(
      endpointSlicesOfServices({ verdictDeps, most: endpoints.perSlice, batch: endpoints.batch }),
      endpoints.workers,
    ),
  "endpoint-slice-mirroring": ({ config: { endpoints } }) =>
    workload(endpointSliceMirroring({ most: endpoints.perMirroredSubset }), endpoints.workers),
};

export interface WorkloadDeps {
  readonly config: Config;
  readonly verdictDeps: BoardVerdictDeps;
}

/** A controller with any types of state and memory, and its number of concurrent workers. */
export interface WorkloadController {
  open<Loop>(loopOf: LoopOf<Loop>): Loop;
}

export type LoopOf<Loop> = <State, Memory>(controller: Controller<State, Memory>, workers: number) => Loop;

export const workload = <State, Memory>(
  controller: Controller<State, Memory>,
  workers: number,
): WorkloadController => ({
  open: (loopOf) => loopOf(controller, workers),
});
