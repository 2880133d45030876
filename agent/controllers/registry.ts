import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Config } from "../config/settings.ts";
import type { Controller } from "../runtime/controller.ts";
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
import type { SightParts } from "./sight.ts";
import { type TaintEvictionParts, taintEviction } from "./taint-eviction/controller.ts";

export interface ControllerParts {
  readonly nodeLifecycle: NodeLifecycleParts;
  readonly taintEviction: TaintEvictionParts;
  readonly podGC: PodGcParts;
}

/** What one of them needs. */
type Of<Name extends keyof ControllerParts> = Pick<ControllerParts, Name>;

/** The controllers of boards, one line each. The first three judge boards together: either all of them run or none. */
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

/** The controllers of workloads, one line each, by the names under which the configuration knows them. */
const workloads: readonly {
  readonly setting: keyof Config["controllers"];
  /** Where it is not for every site. */
  readonly when?: (config: Config) => boolean;
  readonly of: (parts: WorkloadParts) => Workload;
}[] = [
  { setting: "daemonSet", of: ({ config, sight }) => workload(daemonSet({ sight }), config.daemonSet.workers) },
  {
    setting: "daemonSet",
    when: ({ daemonSet: { bind } }) => bind,
    of: ({ config }) => workload(daemonBinding, config.daemonSet.workers),
  },
  {
    setting: "endpoints",
    of: ({ config: { endpoints }, sight }) =>
      workload(endpointsOfServices({ sight, batch: endpoints.batch }), endpoints.workers),
  },
  {
    setting: "endpointSlice",
    of: ({ config: { endpoints }, sight }) =>
      workload(
        endpointSlicesOfServices({ sight, most: endpoints.perSlice, batch: endpoints.batch }),
        endpoints.workers,
      ),
  },
  {
    setting: "endpointSliceMirroring",
    of: ({ config: { endpoints } }) =>
      workload(endpointSliceMirroring({ most: endpoints.perMirroredSubset }), endpoints.workers),
  },
];

export interface WorkloadParts {
  readonly config: Config;
  readonly sight: SightParts;
}

/** A controller whatever it thinks about, and how many keys it works on at the same time. */
export interface Workload {
  readonly reads: readonly Resource<KubeObject>[];
  open<Loop>(loopOf: LoopOf<Loop>): Loop;
}

export type LoopOf<Loop> = <State, Memory>(controller: Controller<State, Memory>, workers: number) => Loop;

export const workload = <State, Memory>(controller: Controller<State, Memory>, workers: number): Workload => ({
  reads: controller.reads,
  open: (loopOf) => loopOf(controller, workers),
});

/**
 * Those that the configuration asks for. Workloads belong to namespaces: a site that has boards of its own and no
 * namespaces has none (judgement 1a).
 */
export function workloadsOf(parts: WorkloadParts): readonly Workload[] {
  const { site, controllers } = parts.config;
  if (site.nodeSelector !== undefined && site.namespaceSelector === undefined) return [];
  return workloads
    .filter(({ setting, when }) => controllers[setting].mode === "act" && when?.(parts.config) !== false)
    .map(({ of }) => of(parts));
}
