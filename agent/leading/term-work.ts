import type { Memo } from "../../storage/memo.ts";
import type { KubeObject } from "../api/meta.ts";
import { leases, namespaces, nodes, type Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { Config } from "../config/settings.ts";
import type { SightParts } from "../controllers/board-verdicts.ts";
import { type Budget, decodeBudget, encodeBudget } from "../controllers/node-lifecycle/budget.ts";
import type { BoardRecord, SiteMemory } from "../controllers/node-lifecycle/memory.ts";
import type { TimerCounts } from "../controllers/taint-eviction/timer.ts";
import type { WorkloadName } from "../controllers/workloads.ts";
import type { LeaderMemo } from "../election/leader-memo.ts";
import type { Found } from "../election/leadership.ts";
import { budgetAnnotation, holdsAnnotation } from "../election/lease-lock.ts";
import { TermOver } from "../election/term.ts";
import type { Executor } from "../execution/executor.ts";
import { HeldActs, type Waiting } from "../holds/held-acts.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import { isRunning } from "../holds/holds.ts";
import type { InformerSet } from "../informer/informer-set.ts";
import { isHeld, linkOf } from "../judgement/link.ts";
import type { Term } from "../loop/controller.ts";
import { memoryArea } from "../loop/memory-store.ts";
import type { SiteClaims } from "../site/site-claims.ts";
import { followNamespaces } from "../site/site-namespaces.ts";
import type { Caches } from "../site/site-view.ts";
import type { Loop, LoopParts, TermLoops } from "./control-loops.ts";

export interface TermWorkParts {
  readonly config: Config;
  /** The identity under which this process leads. */
  readonly identity: string;
  readonly bootId: string;
  readonly memo: Memo;
  readonly leaderMemo: LeaderMemo;
  readonly client: KubeClient;
  readonly informers: InformerSet;
  readonly claims: SiteClaims;
  readonly caches: Caches;
  /** `caches` without the boards that another site claims. */
  readonly uncontested: Caches;
  readonly executor: Executor;
  readonly sight: SightParts;
  readonly workloads: readonly WorkloadName[];
  readonly controllers: LoadControllers;
  readonly holds: HoldBook;
  readonly mirrored: readonly Resource<KubeObject>[];
  /** Why another board should lead instead of this one; called again and again. */
  readonly whyToLeave: (now: Instant) => string | undefined;
  readonly leave: (why: string) => void;
  /** Keeps the caches up to date, until the signal aborts. */
  readonly listen: (signal: AbortSignal) => Promise<void>;
  /** Called on changes the status file should show at once. */
  readonly news: () => void;
}

/** Loads the controllers when the board first leads: boards that only follow stay smaller without them. */
export type LoadControllers = () => Promise<typeof import("./control-loops.ts")>;

const fitnessLook: Millis = 5000;

/** How often to check whether an outage has ended. */
const outageLook: Millis = 1000;

/** The work of successive terms: the controllers, and the tasks around them while this board leads. */
export class TermWork {
  readonly #ambient: Ambient;
  readonly #parts: TermWorkParts;
  #term: Term | undefined;
  #loops: readonly Loop[] = [];
  #judged: TermLoops["judged"];
  #timers: TermLoops["timers"];
  readonly #held = new HeldActs();

  constructor(ambient: Ambient, parts: TermWorkParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** The term under which all work writes; undefined: another board leads. */
  get term(): Term | undefined {
    return this.#term;
  }

  /** The control loops of the present term; empty: another board leads. */
  get loops(): readonly Loop[] {
    return this.#loops;
  }

  /** The node lifecycle controller's memory of the boards; undefined: it has not begun, or another board leads. */
  get site(): SiteMemory | undefined {
    return this.#judged?.();
  }

  /** Pods whose time beside a taint runs or is over; undefined: taint eviction does not run, or another board leads. */
  timers(now: Instant): TimerCounts | undefined {
    return this.#timers?.(now);
  }

  /** The most that the outage which began then held back at one time, as far as this board led. */
  heldSince(outage: Instant): Waiting {
    return this.#held.mostSince(outage);
  }

  judged(): SiteMemory | "by nobody" | undefined {
    return this.#judged ? this.#judged() : "by nobody";
  }

  wakeAll(): void {
    for (const loop of this.#loops) loop.wakeAll();
    this.#parts.news();
  }

  /** Applies changed holds: pauses loops or resumes them, and wakes every key. */
  holdsChanged(): void {
    this.#obeyPauses();
    this.wakeAll();
  }

  /** The zone budgets for the next leader. */
  budget(): string | undefined {
    const memory = this.site;
    return memory && encodeBudget(memory, this.#ambient.clock.now());
  }

  /** Runs until the term is over. Each controller begins only when its caches are in sync with the site. */
  async lead(term: Term, { annotations, written }: Found): Promise<void> {
    const { config, holds, controllers, news } = this.#parts;
    const begun = this.#ambient.clock.now();
    this.#takeStock(term);
    const tasks = new TaskGroup(term.signal);
    const under: Term = { number: term.number, signal: tasks.signal, standsAt: (now) => term.standsAt(now) };
    // Before the first wait, so that renewals carry on the holds found on the Lease.
    holds.begin(annotations[holdsAnnotation], written);
    const budget = decodeBudget(annotations[budgetAnnotation], begun);
    try {
      const { controlLoops } = await controllers();
      const { loops, judged, timers } = controlLoops(
        this.#ambient,
        this.#loopParts(() => budget),
      );
      this.#judged = judged;
      this.#timers = timers;
      this.#loops = loops;
      this.#term = under;
      this.#obeyPauses();
      this.#startAll(tasks, under);
      news();
      await tasks.join();
    } finally {
      holds.end();
      this.#term = undefined;
      this.#loops = [];
      this.#judged = undefined;
      this.#timers = undefined;
      if (config.standby === "cold") this.#rest(term);
      news();
    }
  }

  #loopParts(inherited: () => Budget | undefined): LoopParts {
    const { bootId, sight, holds, config } = this.#parts;
    const { settings } = sight;
    const left = { inherited, boot: bootId, holds: (now: Instant) => holds.now(now) };
    const judged = (board: string): BoardRecord | "by nobody" | undefined =>
      this.#judged ? this.#judged()?.boards.get(board) : "by nobody";
    return {
      ...this.#parts,
      nodeLifecycle: { settings, ...left },
      taintEviction: { settings, ...left, judged },
      podGC: { sight, terminatedThreshold: config.podGC.terminatedThreshold },
    };
  }

  #startAll(tasks: TaskGroup, under: Term): void {
    const { config, claims: sites, informers, mirrored, holds } = this.#parts;
    if (config.standby === "cold") tasks.start("informers", (signal) => this.#parts.listen(signal));
    // No board is touched before the claims of other sites are known.
    const claims = sites.learn(tasks.signal);
    tasks.start("claims", async (signal) => {
      // Conflicts are found among the mirrored boards.
      await Promise.all([claims, informers.synced([nodes], signal)]);
      await sites.follow(signal);
    });
    for (const loop of this.#loops) tasks.start("controller", () => this.#runLoop(loop, claims, under));
    tasks.start("outages", (signal) => this.#afterOutages(signal));
    tasks.start("holds", (signal) => holds.run(signal));
    tasks.start("fitness", (signal) => this.#whileFit(signal));
    const cameOrWent = (signal: AbortSignal): Promise<void> =>
      followNamespaces(this.#ambient.clock, { caches: informers, changed: () => this.wakeAll() }, signal);
    if (mirrored.includes(namespaces)) tasks.start("namespaces", cameOrWent);
  }

  #obeyPauses(): void {
    const { clock } = this.#ambient;
    const now = clock.now();
    const { pauses } = this.#parts.holds.now(now);
    for (const loop of this.#loops) {
      const pause = pauses.get(loop.stats(now).name);
      if (pause && isRunning(pause, now)) loop.pause();
      else loop.resume();
    }
  }

  /** A leader that stays unwell makes way for another board (docs/judgement.md#terms). */
  async #whileFit(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    while (!signal.aborted) {
      await sleep(clock, fitnessLook, signal);
      const why = signal.aborted ? undefined : this.#parts.whyToLeave(clock.now());
      if (why !== undefined) this.#parts.leave(why);
    }
  }

  /** The watches stopped because the term ended: that is an outage only if an outage ended the term. */
  #rest({ signal: { reason } }: Term): void {
    if (reason instanceof TermOver && reason.heard) this.#parts.informers.pause(reason.at);
  }

  /** A controller whose resources the API server does not serve waits for them; the others do not. */
  async #runLoop(loop: Loop, claims: Promise<unknown>, term: Term): Promise<void> {
    const { clock, log } = this.#ambient;
    const { informers, mirrored, news } = this.#parts;
    const begun = clock.now();
    // Until the namespaces are mirrored, none counts as the site's.
    const selected = mirrored.includes(namespaces) ? [namespaces] : [];
    const filled = informers.synced([...loop.reads, ...selected], term.signal);
    const caught = loop.restsOn.length > 0 ? [...loop.restsOn, ...selected] : [];
    await Promise.all([filled, informers.caughtUp(caught, term.signal), claims]);
    if (term.signal.aborted) return;
    const { name: controller } = loop.stats(clock.now());
    log.info("controller started", { controller, waitedMs: Math.round(elapsed(begun, clock.now())) });
    news();
    await loop.run(term);
  }

  /**
   * Stored toleration times are valid only if no other board led in between: it may have removed a taint and added it
   * again, and without timeAdded the two look the same.
   */
  #takeStock({ number }: Term): void {
    const { leaderMemo, identity, memo } = this.#parts;
    if (!leaderMemo.leads(identity, number)) memo.clear(memoryArea("taint-eviction"));
  }

  #lookAtHeld(): void {
    const { clock, log } = this.#ambient;
    const { informers, sight } = this.#parts;
    const now = clock.now();
    const { site } = this;
    if (site === undefined) return;
    const watches = { nodes: informers.informer(nodes).health, leases: informers.informer(leases).health };
    const { deafSince } = linkOf(watches, sight.settings, now);
    const isDeaf = deafSince !== undefined && elapsed(deafSince, now) > sight.settings.blip;
    if (!isDeaf && !isHeld(site.quarantine)) {
      this.#held.look(undefined, log, now);
      return;
    }
    const boards = [...site.zones.values()].reduce((sum, { queue }) => sum + queue.waiting.size, 0);
    this.#held.look({ boards, pods: this.timers(now)?.due ?? 0 }, log, now);
  }

  /** Wakes every key when an outage is over: work given up during it must not wait for the next change. */
  async #afterOutages(signal: AbortSignal): Promise<void> {
    const { mirrored, informers } = this.#parts;
    const restored = (): number =>
      Math.max(...mirrored.map((resource) => informers.informer(resource).health.restoredAt?.mono ?? 0));
    for (let last = restored(); !signal.aborted; ) {
      await sleep(this.#ambient.clock, outageLook, signal);
      this.#lookAtHeld();
      const latest = restored();
      if (latest > last) this.wakeAll();
      last = latest;
    }
  }
}
