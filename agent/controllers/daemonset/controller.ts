import { controllerRevisions, daemonSets, nodes, pods } from "../../api/resources.ts";
import type { Controller } from "../../loop/controller.ts";
import type { SightParts } from "../board-verdicts.ts";
import { workloadReads } from "../workloads.ts";
import { decide, remember } from "./decide.ts";
import { firstMemory, type SetMemory } from "./memory.ts";
import { observe } from "./observe.ts";
import type { SetState } from "./pass.ts";
import { setWakes } from "./wakes.ts";

export interface DaemonSetParts {
  readonly sight: SightParts;
}

/**
 * Keeps one pod of each DaemonSet on every eligible board, and rolls out new templates
 * (docs/kubernetes-rules.md#daemonsets).
 */
export const daemonSet = ({ sight }: DaemonSetParts): Controller<SetState, SetMemory> => ({
  name: "daemonset",
  reads: workloadReads.daemonset,
  restsOn: [nodes, pods, daemonSets, controllerRevisions],
  wakes: setWakes,
  initialMemory: firstMemory,
  observe: (key, site, memory) => observe(key, site, memory, sight),
  decide,
  remember,
});
