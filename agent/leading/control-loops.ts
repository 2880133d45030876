import type { Memo } from "../../storage/memo.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import { PrioritySemaphore } from "../base/concurrency/priority-semaphore.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { Config } from "../config/settings.ts";
import type { BoardVerdictDeps } from "../controllers/board-verdicts.ts";
import { siteKey } from "../controllers/node-lifecycle/controller.ts";
import type { SiteMemory } from "../controllers/node-lifecycle/memory.ts";
import { type ControllerDeps, registry, workloadRegistry } from "../controllers/registry.ts";
import { countTimers, type TimerCounts } from "../controllers/taint-eviction/timer.ts";
import type { WorkloadName } from "../controllers/workloads.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { Executor } from "../execution/executor.ts";
import { leaderOwnsAll } from "../loop/assignment.ts";
import { ControlLoop } from "../loop/control-loop.ts";
import type { Controller } from "../loop/controller.ts";
import { FairTurns } from "../loop/fair-turns.ts";
import { CachedSiteView, type Caches } from "../loop/site-view.ts";
import { type LeavingPods, leavingPods } from "./leaving-pods.ts";

/** The part of a control loop that does not depend on its controller. */
export type Loop = Pick<
  ControlLoop<never, never>,
  "name" | "reads" | "restsOn" | "run" | "stats" | "progress" | "wakeAll" | "pause" | "resume"
>;

export interface TermLoopsDeps extends ControllerDeps {
  readonly config: Config;
  readonly verdictDeps: BoardVerdictDeps;
  readonly workloads: readonly WorkloadName[];
  readonly client: KubeClient;
  readonly executor: Executor;
  readonly memo: Memo;
  readonly decisions: DecisionBook;
  readonly caches: Caches;
  /** The caches without the boards that another site claims. */
  readonly uncontested: Caches;
}

export interface TermLoops {
  readonly loops: readonly Loop[];
  /** Returns the node lifecycle controller's memory; undefined if that controller is turned off. */
  readonly judgeMemory?: () => SiteMemory | undefined;
  /** Counts the pods with an eviction timer; undefined if taint eviction is turned off. */
  readonly timers?: (now: Instant) => TimerCounts;
  /** Counts the pods of these boards that have an eviction timer; undefined if taint eviction is turned off. */
  readonly leaving?: (boards: ReadonlySet<string>) => ReadonlyMap<string, LeavingPods>;
}

/** Workers of a controller of boards; as many as in kube-controller-manager. */
const boardWorkers = 8;

/** The configured control loops. Only a board that leads loads this file, and with it the controllers. */
export function controlLoops(ambient: Ambient, deps: TermLoopsDeps): TermLoops {
  const { config, workloads, client, executor, memo, decisions } = deps;
  const { controllers, taintEviction } = config;
  const resyncs = new PrioritySemaphore(1);
  const large = new PrioritySemaphore(1);
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
        decisions,
        store: memo,
        resyncs,
        large,
        turns,
      });
  // Board controllers do not see boards that another site claims. Workload controllers see all boards, because this
  // site's services keep their endpoints there.
  const ofBoards = opened(deps.uncontested, "boards");
  const ofPods = opened(deps.uncontested, "pods");
  const ofWorkloads = opened(deps.caches, "workloads");
  const judge = controllers.nodeLifecycle.mode === "act" ? ofBoards(registry["node-lifecycle"](deps), 1) : undefined;
  const loops: Loop[] = [];
  if (judge) {
    loops.push(
      judge,
      ofBoards(registry["node-taints"](), boardWorkers),
      ofPods(registry["pod-readiness"](deps), boardWorkers),
      ofPods(registry["out-of-service"](), 1),
    );
  }
  const evicting =
    controllers.taintEviction.mode === "act"
      ? ofPods(registry["taint-eviction"](deps), taintEviction.workers)
      : undefined;
  if (evicting) loops.push(evicting);
  if (controllers.podGC.mode === "act") {
    loops.push(opened(deps.uncontested, "workloads")(registry["pod-gc"](deps), 1));
  }
  for (const name of workloads) loops.push(workloadRegistry[name](deps).open<Loop>(ofWorkloads));
  return {
    loops,
    ...(judge && { judgeMemory: () => judge.memoryOf(siteKey) }),
    ...(evicting && {
      timers: (now: Instant) => countTimers(evicting.memories(), now),
      leaving: (boards: ReadonlySet<string>) => leavingPods(evicting.memories(), boards),
    }),
  };
}
