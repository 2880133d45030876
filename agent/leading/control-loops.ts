import type { Memo } from "../../storage/memo.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { Lane } from "../base/lanes.ts";
import { Permits } from "../base/permits.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { Config } from "../config/settings.ts";
import type { SightParts } from "../controllers/board-verdicts.ts";
import { siteKey } from "../controllers/node-lifecycle/controller.ts";
import type { SiteMemory } from "../controllers/node-lifecycle/memory.ts";
import { type ControllerParts, registry, workloadRegistry } from "../controllers/registry.ts";
import { countTimers, type TimerCounts } from "../controllers/taint-eviction/timer.ts";
import type { WorkloadName } from "../controllers/workloads.ts";
import type { Executor } from "../execution/executor.ts";
import { leaderOwnsAll } from "../loop/assignment.ts";
import { ControlLoop } from "../loop/control-loop.ts";
import type { Controller } from "../loop/controller.ts";
import { FairTurns } from "../loop/fair-turns.ts";
import { CachedSiteView, type Caches } from "../site/site-view.ts";

/** The part of a control loop that does not depend on its controller. */
export type Loop = Pick<
  ControlLoop<never, never>,
  "reads" | "restsOn" | "run" | "stats" | "progress" | "wakeAll" | "pause" | "resume"
>;

export interface LoopParts extends ControllerParts {
  readonly config: Config;
  readonly sight: SightParts;
  readonly workloads: readonly WorkloadName[];
  readonly client: KubeClient;
  readonly executor: Executor;
  readonly memo: Memo;
  readonly caches: Caches;
  /** `caches` without the boards that another site claims. */
  readonly uncontested: Caches;
}

export interface TermLoops {
  readonly loops: readonly Loop[];
  /** The node lifecycle controller's memory of the boards. Undefined: it does not run here. */
  readonly judged?: () => SiteMemory | undefined;
  /** Counts of the pods whose board has a NoExecute taint. Undefined: taint eviction does not run here. */
  readonly timers?: (now: Instant) => TimerCounts;
}

/** As many workers as in kube-controller-manager; they mostly wait for answers. */
const judgeWorkers = 8;

/** The configured control loops. Only a board that leads loads this file, and with it the controllers. */
export function controlLoops(ambient: Ambient, parts: LoopParts): TermLoops {
  const { config, workloads, client, executor, memo } = parts;
  const { controllers, taintEviction } = config;
  const sweeps = new Permits(1);
  const turns = new FairTurns(ambient.clock);
  const opened =
    (caches: Caches, lane: Lane) =>
    <State, Memory>(controller: Controller<State, Memory>, workers: number): ControlLoop<State, Memory> =>
      new ControlLoop(ambient, {
        controller,
        workers,
        lane,
        caches,
        site: (pass) => new CachedSiteView({ caches, client }, pass),
        executor,
        assignment: leaderOwnsAll,
        store: memo,
        sweeps,
        turns,
      });
  // Controllers of boards do not see the boards that another site claims. Those of workloads see all boards: a service
  // of ours goes on pointing at its pods there.
  const ofBoards = opened(parts.uncontested, "boards");
  const ofPods = opened(parts.uncontested, "pods");
  const ofWorkloads = opened(parts.caches, "workloads");
  const judge = controllers.nodeLifecycle.mode === "act" ? ofBoards(registry["node-lifecycle"](parts), 1) : undefined;
  const loops: Loop[] = [];
  if (judge) {
    loops.push(
      judge,
      ofBoards(registry["node-taints"](), judgeWorkers),
      ofPods(registry["pod-readiness"](parts), judgeWorkers),
      ofPods(registry["out-of-service"](), 1),
    );
  }
  const evicting =
    controllers.taintEviction.mode === "act"
      ? ofPods(registry["taint-eviction"](parts), taintEviction.workers)
      : undefined;
  if (evicting) loops.push(evicting);
  if (controllers.podGC.mode === "act") {
    loops.push(opened(parts.uncontested, "workloads")(registry["pod-gc"](parts), 1));
  }
  for (const name of workloads) loops.push(workloadRegistry[name](parts).open<Loop>(ofWorkloads));
  return {
    loops,
    ...(judge && { judged: () => judge.memoryOf(siteKey) }),
    ...(evicting && { timers: (now: Instant) => countTimers(evicting.memories(), now) }),
  };
}
