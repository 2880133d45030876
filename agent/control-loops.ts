import type { Config } from "./config/settings.ts";
import type { NodeLifecycleSettings } from "./controllers/node-lifecycle/settings.ts";
import { type ControllerParts, registry, type Workload } from "./controllers/registry.ts";
import type { ControlLoop } from "./runtime/control-loop.ts";
import type { Controller } from "./runtime/controller.ts";

/** What is asked of every control loop, whatever its controller thinks about. */
export type Loop = Pick<
  ControlLoop<never, never>,
  "reads" | "restsOn" | "run" | "stats" | "progress" | "wakeAll" | "pause" | "resume"
>;

/**
 * Opens the loop of a controller. Controllers of boards do not see the boards that another site claims; those of
 * workloads see all there is: a service of ours goes on pointing at its pods there.
 */
export type OpenLoop = (
  of: "boards" | "workloads",
) => <State, Memory>(controller: Controller<State, Memory>, workers: number) => ControlLoop<State, Memory>;

/** As many of them as kube-controller-manager has: they mostly wait for answers. */
const judgeWorkers = 8;

/** The loops of a term: those that the configuration asks for. `judge`: who judges the boards, if anybody does. */
export function controlLoops(
  { controllers, taintEviction }: Config,
  parts: ControllerParts,
  { workloads, open }: { readonly workloads: readonly Workload[]; readonly open: OpenLoop },
) {
  const ofBoards = open("boards");
  const ofWorkloads = open("workloads");
  const judge = controllers.nodeLifecycle.mode === "act" ? ofBoards(registry["node-lifecycle"](parts), 1) : undefined;
  const loops: Loop[] = [];
  if (judge) {
    loops.push(
      judge,
      ofBoards(registry["node-taints"](), judgeWorkers),
      ofBoards(registry["pod-readiness"](parts), judgeWorkers),
      ofBoards(registry["out-of-service"](), 1),
    );
  }
  if (controllers.taintEviction.mode === "act") {
    loops.push(ofBoards(registry["taint-eviction"](parts), taintEviction.workers));
  }
  if (controllers.podGC.mode === "act") loops.push(ofBoards(registry["pod-gc"](parts), 1));
  for (const workload of workloads) loops.push(workload.open<Loop>(ofWorkloads));
  return { judge, loops };
}

/** Its slice of the configuration. */
export const lifecycleSettings = ({ judgement, nodeLifecycle, link }: Config): NodeLifecycleSettings => ({
  ...nodeLifecycle,
  ...judgement,
  stall: link.watchStall,
  blip: link.blip,
});
