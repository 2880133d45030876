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
import type { DecisionBook, Decisions } from "../decisions/decision-book.ts";
import type { Acts, Executor } from "../execution/executor.ts";
import { leaderOwnsAll } from "../loop/assignment.ts";
import { ControlLoop } from "../loop/control-loop.ts";
import type { Controller } from "../loop/controller.ts";
import { FairTurns } from "../loop/fair-turns.ts";
import { type ApiReader, CachedSiteView, type Caches } from "../loop/site-view.ts";
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
  /** What controllers in shadow mode, or those of another policy, use instead; undefined if there are none. */
  readonly shadow: ShadowLoopsDeps | undefined;
}

/** The collaborators of controllers that only pretend to write. */
export interface ShadowLoopsDeps extends ControllerDeps {
  /** Whether they decide by another policy beside controllers that act, instead of in their place. */
  readonly isComparison: boolean;
  readonly caches: Caches;
  readonly client: ApiReader;
  readonly executor: Acts;
  readonly decisions: Pick<Decisions, "due">;
}

export interface TermLoops {
  readonly loops: readonly Loop[];
  /** Returns the node lifecycle controller's memory; undefined if that controller is turned off. */
  readonly judgeMemory?: () => SiteMemory | undefined;
  /** The loops that decide by another policy and write nothing, and their judge's memory; undefined if there are none. */
  readonly compared?: { readonly loops: readonly Loop[]; readonly judgeMemory: () => SiteMemory | undefined };
  /** Counts the pods with an eviction timer; undefined if taint eviction does not act. */
  readonly timers?: (now: Instant) => TimerCounts;
  /** Counts the pods of these boards that have an eviction timer; undefined if taint eviction does not act. */
  readonly leaving?: (boards: ReadonlySet<string>) => ReadonlyMap<string, LeavingPods>;
}

/** Workers of a controller of boards; as many as in kube-controller-manager. */
const boardWorkers = 8;

/** The configured control loops. Only a board that leads loads this file, and with it the controllers. */
export function controlLoops(ambient: Ambient, deps: TermLoopsDeps): TermLoops {
  const { config, workloads, memo } = deps;
  const { controllers, taintEviction } = config;
  const permits = () => ({ resyncs: new PrioritySemaphore(1), large: new PrioritySemaphore(1) });
  // No loop that acts waits for a permit of one that is only compared, which holds it for much longer.
  const [ofActing, ofCompared] = [permits(), permits()];
  const turns = new FairTurns(ambient.clock);
  const opened =
    ({ caches, client, executor, decisions, store, isShadow = false, isComparison = false }: LoopKit, lane: Lane) =>
    <State, Memory>(controller: Controller<State, Memory>, workers: number): ControlLoop<State, Memory> =>
      new ControlLoop(ambient, {
        controller,
        workers,
        // What is only compared waits for everything else, but caches must not wait until it has mapped their changes.
        lane: isComparison ? "events" : lane,
        changesLane: lane,
        caches,
        site: (pass) => new CachedSiteView({ caches, client }, pass),
        executor,
        assignment: leaderOwnsAll,
        decisions,
        ...(isComparison ? ofCompared : ofActing),
        turns,
        isShadow,
        ...(store && { store }),
      });
  // Board controllers do not see boards that another site claims. Workload controllers see all boards, because this
  // site's services keep their endpoints there.
  const acting = { ...deps, caches: deps.uncontested, store: memo };
  // Timers of what was only pretended must not reach a later controller that acts, so nothing is stored.
  const shadow = deps.shadow && { ...deps.shadow, isShadow: true };
  const kitOf = (name: "nodeLifecycle" | "taintEviction" | "podGC") => {
    const { mode } = controllers[name];
    return mode === "act" ? acting : mode === "shadow" ? shadow : undefined;
  };
  const loops: Loop[] = [];
  const judgesOf = (kit: LoopKit & ControllerDeps) => {
    const judge = opened(kit, "boards")(registry["node-lifecycle"](kit), 1);
    const readiness = opened(kit, "pods")(registry["pod-readiness"](kit), boardWorkers);
    return { judge, all: [judge, opened(kit, "boards")(registry["node-taints"](), boardWorkers), readiness] };
  };
  const evictorOf = (kit: LoopKit & ControllerDeps) =>
    opened(kit, "pods")(registry["taint-eviction"](kit), taintEviction.workers);
  const judging = kitOf("nodeLifecycle");
  const { judge, all: judges } = judging ? judgesOf(judging) : { judge: undefined, all: [] };
  loops.push(...judges);
  if (judging) loops.push(opened(judging, "pods")(registry["out-of-service"](judging), 1));
  const eviction = kitOf("taintEviction");
  const evicting = eviction && evictorOf(eviction);
  if (evicting) loops.push(evicting);
  const collection = kitOf("podGC");
  if (collection) loops.push(opened(collection, "workloads")(registry["pod-gc"](collection), 1));
  const ofWorkloads = opened({ ...acting, caches: deps.caches }, "workloads");
  for (const name of workloads) loops.push(workloadRegistry[name](deps).open<Loop>(ofWorkloads));
  const other = shadow?.isComparison ? judgesOf(shadow) : undefined;
  return {
    loops,
    ...(shadow &&
      other && {
        compared: {
          loops: [...other.all, ...(controllers.taintEviction.mode === "act" ? [evictorOf(shadow)] : [])],
          judgeMemory: () => other.judge.memoryOf(siteKey),
        },
      }),
    ...(judge && { judgeMemory: () => judge.memoryOf(siteKey) }),
    ...(evicting &&
      eviction === acting && {
        timers: (now: Instant) => countTimers(evicting.memories(), now),
        leaving: (boards: ReadonlySet<string>) => leavingPods(evicting.memories(), boards),
      }),
  };
}

/** What a loop reads, acts and records with. */
type LoopKit = Pick<ShadowLoopsDeps, "caches" | "client" | "executor" | "decisions"> & {
  readonly store?: Memo;
  readonly isShadow?: boolean;
  readonly isComparison?: boolean;
};
