import type { Config } from "../config/settings.ts";
import type { Controller } from "../loop/controller.ts";
import type { SightParts } from "./board-verdicts.ts";
import { daemonBinding } from "./daemon-binding/controller.ts";
import { daemonSet } from "./daemonset/controller.ts";
import { endpointSlicesOfServices } from "./endpoint-slice/controller.ts";
import { endpointSliceMirroring } from "./endpoint-slice-mirroring/controller.ts";
import { endpointsOfServices } from "./endpoints/controller.ts";
import { type NodeLifecycleParts, nodeLifecycle } from "./node-lifecycle/controller.ts";
import { nodeTaints } from "./node-lifecycle/node-taints.ts";
import { outOfServiceBoards } from "./node-lifecycle/out-of-service.ts";
import { podReadiness } from "./node-lifecycle/pod-readiness.ts";
import { type PodGcParts, podGC } from "./pod-gc/controller.ts";
import { type TaintEvictionParts, taintEviction } from "./taint-eviction/controller.ts";
import type { WorkloadName } from "./workloads.ts";

export interface ControllerParts {
  readonly nodeLifecycle: NodeLifecycleParts;
  readonly taintEviction: TaintEvictionParts;
  readonly podGC: PodGcParts;
}

/** The parts that one of them needs. */
type Of<Name extends keyof ControllerParts> = Pick<ControllerParts, Name>;

/** The controllers of boards, one line each. */
export const registry = {
  "node-lifecycle": (parts: Of<"nodeLifecycle">) => nodeLifecycle(parts.nodeLifecycle),
  "node-taints": () => nodeTaints,
  "out-of-service": () => outOfServiceBoards,
  "pod-readiness": ({
    nodeLifecycle: { settings },
    taintEviction: { judged },
  }: Of<"nodeLifecycle" | "taintEviction">) => podReadiness({ settings, judged }),
  "taint-eviction": (parts: Of<"taintEviction">) => taintEviction(parts.taintEviction),
  "pod-gc": (parts: Of<"podGC">) => podGC(parts.podGC),
} as const;

/** The controllers of workloads, one line each. Their reads and settings are in workloads.ts. */
export const workloadRegistry: Readonly<Record<WorkloadName, (parts: WorkloadParts) => Workload>> = {
  daemonset: ({ config, sight }) => workload(daemonSet({ sight }), config.daemonSet.workers),
  "daemon-binding": ({ config }) => workload(daemonBinding, config.daemonSet.workers),
  endpoints: ({ config: { endpoints }, sight }) =>
    workload(endpointsOfServices({ sight, batch: endpoints.batch }), endpoints.workers),
  "endpoint-slice": ({ config: { endpoints }, sight }) =>
    workload(endpointSlicesOfServices({ sight, most: endpoints.perSlice, batch: endpoints.batch }), endpoints.workers),
  "endpoint-slice-mirroring": ({ config: { endpoints } }) =>
    workload(endpointSliceMirroring({ most: endpoints.perMirroredSubset }), endpoints.workers),
};

export interface WorkloadParts {
  readonly config: Config;
  readonly sight: SightParts;
}

/** A controller of any state and memory type, with the number of keys it works on concurrently. */
export interface Workload {
  open<Loop>(loopOf: LoopOf<Loop>): Loop;
}

export type LoopOf<Loop> = <State, Memory>(controller: Controller<State, Memory>, workers: number) => Loop;

export const workload = <State, Memory>(controller: Controller<State, Memory>, workers: number): Workload => ({
  open: (loopOf) => loopOf(controller, workers),
});
