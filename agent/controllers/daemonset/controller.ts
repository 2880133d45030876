import { controllerRevisions, daemonSets, nodes, pods } from "../../api/resources.ts";
import { heapWeight } from "../../base/heap-weight.ts";
import type { Controller } from "../../loop/controller.ts";
import type { BoardVerdictDeps } from "../board-verdicts.ts";
import { workloadReads } from "../workloads.ts";
import { decide, decideAfterWrites, decideAfterWritesInSteps, decideInSteps } from "./decide.ts";
import { setMappings } from "./mappings.ts";
import { firstMemory, type SetMemory } from "./memory.ts";
import { observe } from "./observe.ts";
import type { SetState } from "./pass.ts";

/**
 * Sets whose templates exceed this `heapWeight` (about 200 KB of text) are processed one at a time. Typical templates
 * weigh a few hundred.
 */
const maxWeight = 10_000;

export interface DaemonSetDeps {
  readonly verdictDeps: BoardVerdictDeps;
}

/**
 * Keeps one pod of each DaemonSet on every eligible board, and rolls out new templates
 * (docs/kubernetes-rules.md#daemonsets).
 */
export const daemonSet = ({ verdictDeps }: DaemonSetDeps): Controller<SetState, SetMemory> => ({
  name: "daemonset",
  reads: workloadReads.daemonset,
  restsOn: [nodes, pods, daemonSets, controllerRevisions],
  mappings: setMappings,
  initialMemory: firstMemory,
  // A pass holds the template several times: as an object, as text to be hashed, and as the data of its revision.
  isLarge: (key, site) => heapWeight(site.lister(daemonSets).get(key)?.spec?.template) > maxWeight,
  observe: (key, site, memory) => observe(key, site, memory, verdictDeps),
  decide,
  decideInSteps,
  decideAfterWrites,
  decideAfterWritesInSteps,
});
