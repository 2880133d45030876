import type { Ambient } from "../base/ambient.ts";
import type { Config } from "../config/settings.ts";
import { isShadowed } from "../config/shadow-mode.ts";
import { lifecycleSettings } from "../controllers/node-lifecycle/settings.ts";
import type { ValveAt } from "../controllers/safety-valve.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { RecordedAct } from "../decisions/grounds.ts";
import type { EventSink, Executor } from "../execution/executor.ts";
import type { Term } from "../execution/fence.ts";
import type { ValveBook } from "../holds/valve-book.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import type { TermShadow } from "../leading/term-shadow.ts";
import type { ApiReader, Caches } from "../loop/site-view.ts";
import { OverlaidSite } from "../shadow/overlaid-site.ts";
import { RealActs } from "../shadow/real-acts.ts";
import { ShadowClient } from "../shadow/shadow-client.ts";
import { ShadowValve } from "../shadow/shadow-valve.ts";

/** What counts harmful acts: the site's safety valve, or that of controllers in shadow mode. */
export type ActCounter = Pick<ValveBook, "admit" | "view">;

/** What distinguishes the executors of controllers that act and of those in shadow mode. */
export type ExecutorParts = Pick<
  ConstructorParameters<typeof Executor>[1],
  "client" | "events" | "decisions" | "isBack"
>;

interface PretendingDeps {
  readonly config: Config;
  readonly current: CurrentTerm;
  readonly reader: ApiReader;
  /** The caches without the boards that another site claims. */
  readonly uncontested: Caches;
  /** The book of the controllers that only pretend to write. */
  readonly decisions: DecisionBook;
}

export interface TermShadowDeps extends PretendingDeps {
  /** False under policy `kubernetes`, which has no safety valve. */
  readonly hasValve: boolean;
  readonly executorOf: (counter: ActCounter | undefined, parts: ExecutorParts) => Executor;
  readonly valveOf: (counter: ActCounter | undefined) => ValveAt;
}

/** What controllers in shadow mode read and write. */
export function termShadow(
  ambient: Ambient,
  { config, current, reader, uncontested, decisions, hasValve, executorOf, valveOf }: TermShadowDeps,
): TermShadow {
  const { clock } = ambient;
  const site = new OverlaidSite(clock, uncontested);
  const client = new ShadowClient(clock, { site, reader });
  const counter = hasValve ? new ShadowValve(ambient) : undefined;
  const valve = valveOf(counter);
  const realActs = new RealActs({
    caches: uncontested,
    book: decisions,
    acts: actsIn(config),
    by: "another program",
    verdictOn: (board) => current.site?.boards.get(board)?.verdict,
    clock,
    limits: lifecycleSettings(config),
  });
  return {
    caches: site,
    client,
    decisions,
    executor: executorOf(counter, { client, events: noEvents, decisions }),
    isComparison: false,
    verdictDeps: (acting) => ({ ...acting, valve }),
    async run(term, isBehind) {
      counter?.begin();
      try {
        await follow(site, realActs, term, isBehind);
      } finally {
        counter?.end();
      }
    },
  };
}

export interface TermComparisonDeps extends PretendingDeps {
  readonly executorOf: (parts: ExecutorParts) => Executor;
}

/**
 * What controllers read and write that decide by policy `kubernetes` beside those that act: without witnesses, holds and
 * a safety valve. Only agents that compare load this file.
 */
export function termComparison(
  { clock }: Ambient,
  { config, current, reader, uncontested, decisions, executorOf }: TermComparisonDeps,
): TermShadow {
  const site = new OverlaidSite(clock, uncontested);
  const client = new ShadowClient(clock, { site, reader });
  const settings = { ...lifecycleSettings(config), policy: "kubernetes" } as const;
  const realActs = new RealActs({
    caches: uncontested,
    book: decisions,
    acts: new Set(["board-marked", "board-tainted", "pod-evicted"] as const),
    by: "the acting policy, or another program",
    verdictOn(board) {
      const memory = current.comparedMemory();
      return memory === "no judge" ? undefined : memory?.boards.get(board)?.verdict;
    },
    clock,
    limits: settings,
  });
  return {
    caches: site,
    client,
    decisions,
    executor: executorOf({ client, events: noEvents, decisions }),
    isComparison: true,
    verdictDeps: () => ({ settings, judge: () => current.comparedMemory() }),
    run: (term, isBehind) => follow(site, realActs, term, isBehind),
  };
}

/** Follows the site, and what is really done there, until the term ends. */
async function follow(site: OverlaidSite, realActs: RealActs, term: Term, isBehind: () => boolean): Promise<void> {
  const end = realActs.follow(term, isBehind);
  try {
    await site.run(term.signal);
  } finally {
    end();
  }
}

/** The acts of the controllers in shadow mode. */
const actsIn = (config: Config): ReadonlySet<RecordedAct> =>
  new Set<RecordedAct>([
    ...(isShadowed(config, "nodeLifecycle") ? (["board-marked", "board-tainted"] as const) : []),
    ...(isShadowed(config, "taintEviction") ? (["pod-evicted"] as const) : []),
    ...(isShadowed(config, "podGC") ? (["pod-collected"] as const) : []),
  ]);

/** Controllers in shadow mode announce nothing. */
const noEvents: EventSink = { record: () => {} };
