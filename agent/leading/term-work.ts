import type { Memo } from "../../storage/memo.ts";
import type { KubeObject } from "../api/meta.ts";
import { leases, namespaces, nodes, pods, type Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { earlierOf, elapsed, type Instant, type Millis, shifted, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import type { Sickness } from "../board/board-health.ts";
import { longestOf } from "../board/sick-leader.ts";
import type { ApiLink, Outage } from "../client/api-link.ts";
import type { FailingKind, FailingRequests } from "../client/failing-requests.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { Config } from "../config/settings.ts";
import { isShadowed } from "../config/shadow-mode.ts";
import type { BoardVerdictDeps } from "../controllers/board-verdicts.ts";
import { boardsToAsk } from "../controllers/node-lifecycle/boards-to-ask.ts";
import type { BoardRecord } from "../controllers/node-lifecycle/memory.ts";
import { noRecollection, type Recollection, recollect } from "../controllers/node-lifecycle/recollection.ts";
import type { Budget } from "../controllers/node-lifecycle/zones/budget.ts";
import {
  budgetAnnotation,
  encodeBudget,
  inheritedBudget,
} from "../controllers/node-lifecycle/zones/budget-annotation.ts";
import type { ControllerDeps } from "../controllers/registry.ts";
import type { WorkloadName } from "../controllers/workloads.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { LeaderElector } from "../election/leader-elector.ts";
import type { LeaderMemo } from "../election/leader-memo.ts";
import { TermOver } from "../election/term.ts";
import type { LeaseAnnotations } from "../election/term-run.ts";
import type { Executor } from "../execution/executor.ts";
import type { Term } from "../execution/fence.ts";
import { HeldActs, type HeldCounts } from "../holds/held-acts.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import { holdsAnnotation } from "../holds/holds.ts";
import { valveAnnotation } from "../holds/valve.ts";
import type { ValveBook } from "../holds/valve-book.ts";
import type { InformerSet } from "../informer/informer-set.ts";
import type { ServerHistory } from "../informer/server-history.ts";
import type { WatchHealth } from "../informer/watch-health.ts";
import { isQuarantineActive, type Link, linkOf } from "../judgement/link.ts";
import { memoryArea } from "../loop/memory-store.ts";
import type { Caches } from "../loop/site-view.ts";
import type { GuardedInformers } from "../site/guarded-informers.ts";
import type { SiteClaims } from "../site/site-claims.ts";
import { followNamespaces } from "../site/site-namespaces.ts";
import { announcedBy } from "../witness/announcement.ts";
import type { Questioner, QuestionTargets } from "../witness/questioner.ts";
import type { Loop, TermLoopsDeps } from "./control-loops.ts";
import type { CurrentTerm } from "./current-term.ts";
import type { Fitness } from "./fitness.ts";
import { heldOtherwise } from "./held-otherwise.ts";
import { Incapacity } from "./incapacity.ts";
import { namesIn } from "./peers.ts";
import { StalledWatchDetector } from "./stalled-watch-detector.ts";
import { StandbySearch } from "./standby-search.ts";
import { StartingLoops } from "./starting-loops.ts";
import type { Suspensions } from "./suspensions.ts";
import { type Former, type LoadShadow, nothingFormer, type TermShadow } from "./term-shadow.ts";

export interface TermWorkDeps {
  readonly config: Config;
  /** The identity under which this process leads. */
  readonly identity: string;
  readonly bootId: string;
  readonly memo: Memo;
  readonly leaderMemo: LeaderMemo;
  readonly client: KubeClient;
  readonly informers: InformerSet;
  readonly claims: SiteClaims;
  readonly suspensions: Pick<Suspensions, "run" | "stutteringSince" | "unableSince">;
  readonly caches: Caches;
  /** The caches without the boards that another site claims. */
  readonly uncontested: Caches;
  readonly executor: Executor;
  readonly decisions: DecisionBook;
  /** Loads what controllers in shadow mode, or those of another policy, use instead; undefined if there are none. */
  readonly shadow: LoadShadow | undefined;
  /** Undefined if silent boards are not asked on the LAN. */
  readonly questioner: Questioner | undefined;
  readonly verdictDeps: BoardVerdictDeps;
  readonly history: Pick<ServerHistory, "mayBeFormer">;
  readonly workloads: readonly WorkloadName[];
  readonly controllers: LoadControllers;
  readonly holds: HoldBook;
  /** Undefined under policy `kubernetes`, which has no safety valve. */
  readonly valve: ValveBook | undefined;
  readonly mirrored: readonly Resource<KubeObject>[];
  readonly current: CurrentTerm;
  readonly fitness: Fitness;
  readonly elector: Pick<LeaderElector, "stepDown">;
  readonly home: Pick<GuardedInformers, "listen">;
  /** Makes the next requests use a new connection, which may reach another API server. */
  readonly renewConnection: () => void;
  readonly link: Pick<ApiLink, "onSilence">;
  /** The failing requests of `client`. */
  readonly failing: FailingRequests;
  /** Called after each change that must appear in the status file immediately. */
  readonly statusChanged: () => void;
}

/** Loads the controllers when the board first leads, because boards that only follow use less memory without them. */
export type LoadControllers = () => Promise<typeof import("./control-loops.ts")>;

/** Interval between the leader's checks of its own fitness. */
const fitnessCheck: Millis = 5000;

/** The number of a site's first term, before which no act was done. */
const firstTerm = 0;
/** How often the leader checks whether an outage has ended. */
const outageCheck: Millis = 1000;

/** The work of successive terms: the controllers, and the tasks around them while this board leads. */
export class TermWork {
  readonly #ambient: Ambient;
  readonly #deps: TermWorkDeps;
  readonly #held = new HeldActs();
  readonly #deafness: StalledWatchDetector;
  readonly #incapacity: Incapacity;
  readonly #standbySearch: StandbySearch;
  readonly #starting = new StartingLoops();
  /** The state that the judge of the next term takes over from the last term. */
  #recalled: Recollection = noRecollection;

  constructor(ambient: Ambient, deps: TermWorkDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    const { config, client, informers, verdictDeps, failing, renewConnection } = deps;
    const shared = { limits: verdictDeps.settings, leader: config.leader, renewConnection };
    this.#deafness = new StalledWatchDetector(ambient, shared);
    this.#incapacity = new Incapacity(ambient, { ...shared, failing });
    this.#standbySearch = new StandbySearch(ambient, {
      client,
      scope: config.site,
      own: config.board.node,
      known: () => namesIn(informers.informer(nodes).lister),
    });
  }

  /**
   * The peak number of acts that an outage, and the quarantine after it, held while this board led; undefined if it did
   * not lead when the outage began. A board that follows does not know what is due.
   */
  heldDuring({ startedAt, endedAt, isLed }: Outage): HeldCounts | undefined {
    return isLed ? this.#held.mostDuring({ from: startedAt, to: endedAt }) : undefined;
  }

  /**
   * When this leader became deaf; undefined if it is not deaf, has not been for long enough to count, or does not lead.
   */
  deafSince(now: Instant): Instant | undefined {
    return this.#deafness.sickness(now)?.since;
  }

  /** Since when this leader has been stopped again and again; undefined if it has not, or does not lead. */
  stutteringSince(now: Instant): Instant | undefined {
    return this.#deps.current.isActing ? this.#deps.suspensions.stutteringSince(now) : undefined;
  }

  /**
   * A kind of request that this leader needs, and of which all requests fail; undefined if there is none, or if it does
   * not lead.
   */
  failing(now: Instant): FailingKind | undefined {
    return this.#deps.current.isActing ? this.#incapacity.failing(now) : undefined;
  }

  /**
   * The caches, or the claims of other sites, that a controller of the current term waits for before it starts; empty
   * if it has started or there is no such controller.
   */
  waitsFor(controller: string): readonly string[] {
    return this.#starting.waitsFor(controller);
  }

  /** The controllers that should have started in this term but have not; undefined if there are none. */
  late(now: Instant): ReturnType<StartingLoops["late"]> {
    return this.#starting.late(now);
  }

  /**
   * The zone budgets as text for the Lease, from which the next leader reads them; undefined if there are none yet, null
   * if this leader has none, because it does not judge boards or only pretends to: those on the Lease become outdated.
   */
  budget(): string | null | undefined {
    const { config, current } = this.#deps;
    if (config.controllers.nodeLifecycle.mode !== "act") return null;
    return current.site && encodeBudget(current.site, current.term?.number, this.#ambient.clock.now());
  }

  /**
   * Does the work of a term until the term has ended. Each controller starts once its caches are in sync with the site.
   */
  async lead(term: Term, { lease, annotations, written }: LeaseAnnotations): Promise<void> {
    const { config, holds, valve, controllers, current, leaderMemo, statusChanged } = this.#deps;
    const begun = this.#ambient.clock.now();
    this.#dropOutdatedTimers(term);
    const tasks = new TaskGroup(term.signal);
    // The loops forget their memory when they end.
    tasks.signal.addEventListener("abort", () => this.#keepForNextTerm(), { once: true });
    this.#incapacity.begin();
    const under: Term = { number: term.number, signal: tasks.signal, standsAt: (now) => term.standsAt(now) };
    // Must precede the first await, so that every renewal writes the holds and acts that were found on the Lease.
    holds.begin(annotations[holdsAnnotation], { lease, written });
    valve?.begin(annotations[valveAnnotation], { lease, written }, term.number === firstTerm);
    const budget = this.#isJudgeShadowed
      ? undefined
      : inheritedBudget(annotations[budgetAnnotation], leaderMemo.undoneUntil, begun);
    try {
      const { controlLoops } = await controllers();
      const shadow = await this.#deps.shadow?.();
      current.begin(
        under,
        controlLoops(
          this.#ambient,
          this.#loopParts(() => budget, shadow),
        ),
      );
      current.obeyPauses(holds.ordered);
      this.#startAll(tasks, under, shadow);
      statusChanged();
      await tasks.join();
    } finally {
      holds.end();
      valve?.end();
      current.end();
      this.#deafness.end();
      this.#held.endTerm();
      if (config.standby === "cold") this.#pauseWatches(term);
      statusChanged();
    }
  }

  get #isJudgeShadowed(): boolean {
    return isShadowed(this.#deps.config, "nodeLifecycle");
  }

  #keepForNextTerm(): void {
    const { current, config } = this.#deps;
    if (current.site) this.#recalled = recollect(current.site, config.nodeLifecycle.gracePeriod);
  }

  #loopParts(inherited: () => Budget | undefined, shadow: TermShadow | undefined): TermLoopsDeps {
    const { verdictDeps } = this.#deps;
    const former = { inherited, recalled: this.#recalled };
    return {
      ...this.#deps,
      ...this.#controllerDeps(verdictDeps, former),
      shadow: shadow && {
        ...shadow,
        ...this.#controllerDeps(shadow.verdictDeps(verdictDeps), shadow.isComparison ? nothingFormer : former),
      },
    };
  }

  #controllerDeps(verdictDeps: BoardVerdictDeps, { inherited, recalled }: Former): ControllerDeps {
    const { bootId, history, config, claims, leaderMemo } = this.#deps;
    const { settings, judge, holds, valve, wordOf } = verdictDeps;
    const now = { ...(holds && { holds }), ...(valve && { valve }), ...(wordOf && { wordOf }) };
    const shared = { inherited, boot: bootId, ...now };
    const recordOf = (board: string): BoardRecord | "no judge" | undefined => {
      const memory = judge();
      return memory === "no judge" ? memory : memory?.boards.get(board);
    };
    return {
      nodeLifecycle: {
        settings,
        ...shared,
        recalled,
        undoneUntil: () => leaderMemo.undoneUntil,
      },
      taintEviction: {
        settings,
        ...shared,
        recordOf,
        mayBeFormer: () => history.mayBeFormer,
        seesAllBoards: () => config.site.nodeSelector === undefined && claims.none,
      },
      podGC: { verdictDeps, terminatedThreshold: config.podGC.terminatedThreshold },
    };
  }

  #startAll(tasks: TaskGroup, under: Term, shadow: TermShadow | undefined): void {
    const {
      config,
      claims: sites,
      informers,
      mirrored,
      holds,
      home,
      current,
      fitness,
      questioner,
      suspensions,
    } = this.#deps;
    // Before the loops, which must see what is pretended from the first write on.
    if (shadow) {
      const { missing } = informers.caughtUp([nodes, pods], tasks.signal);
      tasks.start("shadow", () => shadow.run(under, () => missing().length > 0));
    }
    tasks.start("suspensions", (signal) => suspensions.run(signal));
    if (config.standby === "cold") tasks.start("informers", (signal) => home.listen(signal));
    // Boards are left alone until the claims of other sites are known.
    const claims = sites.learn(tasks.signal);
    tasks.start("claims", async (signal) => {
      // The cached Nodes show which boards two sites claim.
      await Promise.all([claims, informers.synced([nodes], signal).done]);
      await sites.follow(signal);
    });
    for (const loop of current.loops) tasks.start("controller", () => this.#runLoop(loop, claims, under));
    for (const loop of current.comparedLoops)
      tasks.start("comparison", () => this.#runLoop(loop, claims, under, `${loop.name} (policy kubernetes)`));
    tasks.start("outages", (signal) => this.#afterOutages(signal));
    tasks.start("holds", (signal) => holds.run(signal));
    tasks.start("fitness", (signal) => this.#whileFit(signal));
    if (questioner) tasks.start("questions", (signal) => questioner.run(this.#doubts, signal));
    tasks.start("lasting", (signal) => fitness.duringTerm(signal));
    const wakeOnNamespaces = (signal: AbortSignal): Promise<void> =>
      followNamespaces(this.#ambient.clock, { caches: informers, changed: () => current.wakeAll() }, signal);
    if (mirrored.includes(namespaces)) tasks.start("namespaces", wakeOnNamespaces);
  }

  /**
   * Steps down if this board remains unwell, deaf, unable to act or judge, or isolated on the LAN, and another one can lead
   * (docs/judgement.md#unwell-boards).
   */
  async #whileFit(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { fitness, elector } = this.#deps;
    while (!signal.aborted) {
      await sleep(clock, fitnessCheck, signal);
      if (signal.aborted) return;
      const now = clock.now();
      this.#deafness.update(watchesOf(this.#deps.informers), now);
      this.#incapacity.update(watchesOf(this.#deps.caches), now);
      const deafness = this.#deafness.sickness(now);
      // One that has just begun must not hide another that has lasted for long enough.
      const incapacity = longestOf([this.#incapacity.sickness(now), this.#isolation(), this.#standstill(now)]);
      const why =
        fitness.whyToLeave(now, { deafness, incapacity }) ?? (deafness && (await this.#whyToLeaveDeaf(signal)));
      if (why !== undefined) elector.stepDown(why, fitness.restAfterLeaving);
    }
  }

  /**
   * Why this leader should step down because no other board answers it on a network of the LAN; undefined if there is
   * no such network. A board that is only cut off from the API server looks dead to such a leader.
   */
  #isolation(): Sickness | undefined {
    const { path, since } = this.#deps.questioner?.isolation ?? {};
    return since && { why: `no other board has answered it on the LAN via ${path}`, since };
  }

  /** Why this leader should step down because it does not run long enough at a time to judge boards. */
  #standstill(now: Instant): Sickness | undefined {
    const since = this.#deps.suspensions.unableSince(now);
    return since && { why: "its process has been stopped again and again", since };
  }

  /** Why this deaf leader should step down, although its cache shows no standby. */
  async #whyToLeaveDeaf(signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#ambient;
    const { fitness } = this.#deps;
    if (!fitness.mayLeaveDeaf(clock.now())) return undefined;
    const found = await this.#standbySearch.find(signal);
    if (found === undefined || signal.aborted) return undefined;
    const now = clock.now();
    this.#deafness.update(watchesOf(this.#deps.informers), now);
    return fitness.whyToLeaveTo(found, this.#deafness.sickness(now), now);
  }

  /** The watches stop at the end of the term. This does not count as an outage, unless an outage ended the term. */
  #pauseWatches({ signal: { reason } }: Term): void {
    if (reason instanceof TermOver && reason.serverAnswered) this.#deps.informers.pause(reason.at);
  }

  /**
   * Runs a control loop once its caches are in sync. If the API server does not serve one of its resources, only this
   * loop waits.
   */
  async #runLoop(loop: Loop, claims: Promise<unknown>, term: Term, name = loop.name): Promise<void> {
    const { clock, log } = this.#ambient;
    const { informers, mirrored, statusChanged } = this.#deps;
    const begun = clock.now();
    // Until the namespaces are cached, no namespace counts as belonging to the site.
    const selected = mirrored.includes(namespaces) ? [namespaces] : [];
    const filled = informers.synced([...loop.reads, ...selected], term.signal);
    const caughtUp = informers.caughtUp(loop.restsOn.length > 0 ? [...loop.restsOn, ...selected] : [], term.signal);
    const waitsFor = (): readonly string[] => {
      const behind = new Set([...filled.missing(), ...caughtUp.missing()]);
      return behind.size > 0 ? [...behind] : ["the claims of other sites"];
    };
    this.#starting.waits(name, waitsFor, begun);
    try {
      await Promise.all([filled.done, caughtUp.done, claims]);
    } finally {
      this.#starting.over(name);
    }
    if (term.signal.aborted) return;
    log.info("controller started", { controller: name, waitedMs: Math.round(elapsed(begun, clock.now())) });
    statusChanged();
    await loop.run(term);
  }

  /**
   * Drops the stored toleration times if another board led since this board's last term: that board may have removed
   * one of our taints and added it again. While taint eviction is in shadow mode, another program evicts, and stores none.
   */
  #dropOutdatedTimers({ number }: Term): void {
    const { leaderMemo, identity, memo, config } = this.#deps;
    const isLeft = isShadowed(config, "taintEviction");
    if (!leaderMemo.beginTerm(identity, number) || isLeft) memo.clear(memoryArea("taint-eviction"));
  }

  /** Records how many acts an outage or a quarantine holds now. */
  #countHeld(): void {
    const { clock, log } = this.#ambient;
    const { verdictDeps, current, caches, decisions } = this.#deps;
    const now = clock.now();
    const { site } = current;
    if (site === undefined) return;
    const { notLiveSince } = linkOf(watchesOf(caches), verdictDeps.settings, now);
    const isDeaf = notLiveSince !== undefined && elapsed(notLiveSince, now) > verdictDeps.settings.blip;
    if (!isDeaf && !isQuarantineActive(site.quarantine)) {
      const { term } = current;
      this.#held.free(heldOtherwise(term ? decisions.heldGroups(term.number) : []), log, now);
      return;
    }
    const zones = this.#isJudgeShadowed ? [] : [...site.zones.values()];
    const boards = new Set(zones.flatMap(({ queue }) => [...queue.waiting.keys()]));
    this.#held.hold({ boards, pods: current.timers(now)?.due ?? 0 }, now);
  }

  /** Notes whether the safety valve holds acts. */
  #watchValve(): void {
    const { valve, decisions } = this.#deps;
    valve?.observe(decisions.heldCounts().some(({ why, now }) => why === "valve" && now > 0));
  }

  /**
   * The boards to ask on the LAN, as remembered by the judge, and the addresses at which they answer, according to the
   * cached Nodes.
   */
  get #doubts(): QuestionTargets {
    const { current, caches, verdictDeps } = this.#deps;
    const { settings } = verdictDeps;
    const boards = caches.informer(nodes).lister;
    return {
      inDoubt: (now) => {
        const { site } = current;
        return site && boardsToAsk(site, { link: linkOf(watchesOf(caches), settings, now), settings }, now);
      },
      others: () => current.otherBoards(settings.ownNode),
      announced: (board) => {
        const node = boards.get(board);
        return node && announcedBy(node);
      },
      reportedBoot: (board) => boards.get(board)?.status?.nodeInfo?.bootID,
    };
  }

  /**
   * Processes every key again after an outage, because work that failed during it must not wait for the next change. An
   * outage of the watches of boards is reported to the link.
   */
  async #afterOutages(signal: AbortSignal): Promise<void> {
    const { mirrored, caches, current, verdictDeps } = this.#deps;
    const { settings } = verdictDeps;
    const boards = (): Link => linkOf(watchesOf(caches), settings, this.#ambient.clock.now());
    let before = boards();
    const restored = (): number =>
      Math.max(...mirrored.map((resource) => caches.informer(resource).health.restoredAt?.mono ?? 0));
    for (let last = restored(); !signal.aborted; ) {
      await sleep(this.#ambient.clock, outageCheck, signal);
      this.#countHeld();
      this.#watchValve();
      const link = boards();
      const ended = link.restoredAt;
      if (ended !== undefined && ended.mono > (before.restoredAt?.mono ?? 0)) {
        // After a suspension, the watches stay interrupted for some seconds longer.
        const shortest = shifted(ended, -settings.blip);
        this.#deps.link.onSilence(earlierOf(earlierOf(shortest, before.notLiveSince), link.notLiveSince), ended);
      }
      before = link;
      const latest = restored();
      if (latest > last) current.wakeAll();
      last = latest;
    }
  }
}

const watchesOf = (caches: Caches): Record<"nodes" | "leases", WatchHealth> => ({
  nodes: caches.informer(nodes).health,
  leases: caches.informer(leases).health,
});
