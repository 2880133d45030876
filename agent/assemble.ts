import { Memo } from "../storage/memo.ts";
import type { StateFolder } from "../storage/state-folder.ts";
import type { KubeObject } from "./api/meta.ts";
import { leases, namespaces, nodes, pods, type Resource } from "./api/resources.ts";
import type { Ambient } from "./base/ambient.ts";
import type { Instant, Millis } from "./base/clock.ts";
import type { Progress } from "./base/progress.ts";
import { TaskGroup } from "./base/tasks.ts";
import type { BoardHealth } from "./board/board-health.ts";
import { identityOf } from "./board/identity.ts";
import { reasonNotToStand, reasonToStepDown } from "./board/sick-leader.ts";
import { apiClients } from "./client/api-clients.ts";
import { ApiLink } from "./client/api-link.ts";
import type { KubeClient } from "./client/kube-client.ts";
import { Permissions } from "./client/permissions.ts";
import type { RequestRate } from "./client/request-limiter.ts";
import { Traffic } from "./client/traffic.ts";
import type { Transport } from "./client/transport.ts";
import { AgentSiteControls } from "./commands/operations/site-controls.ts";
import { claimSettings } from "./config/claim-settings.ts";
import type { Config } from "./config/settings.ts";
import { freezeOnBoard } from "./controllers/board-verdicts.ts";
import { lifecycleSettings } from "./controllers/node-lifecycle/settings.ts";
import { workloadReads, workloadsOf } from "./controllers/workloads.ts";
import { LeaderElector } from "./election/leader-elector.ts";
import { LeaderMemo } from "./election/leader-memo.ts";
import { budgetAnnotation, countersAnnotation, holdsAnnotation, LeaseLock } from "./election/lease-lock.ts";
import { EventRecorder } from "./execution/event-recorder.ts";
import { Executor } from "./execution/executor.ts";
import { type Ended, HoldBook, type Quiet } from "./holds/hold-book.ts";
import type { Holds } from "./holds/holds.ts";
import { InformerSet } from "./informer/informer-set.ts";
import { isOutdated, linkOf } from "./judgement/link.ts";
import { peersOf } from "./leading/peers.ts";
import { type LoadControllers, TermWork } from "./leading/term-work.ts";
import { CounterBook } from "./site/counter-book.ts";
import { Home } from "./site/home.ts";
import { SiteClaims } from "./site/site-claims.ts";
import { siteAnnotations, siteLabels } from "./site/site-lease.ts";
import { namespacesOf, siteNamespaces } from "./site/site-namespaces.ts";
import type { Caches } from "./site/site-view.ts";
import { uncontestedCaches } from "./site/uncontested-caches.ts";
import { type AgentViews, viewsOf } from "./views.ts";

/** The health of this board, if a companion watches it. */
export interface WatchedBoard extends BoardHealth {
  /** The quiet hours that run at that instant, in which nothing is evicted; undefined: none do. */
  isQuiet(now: Instant): Quiet | undefined;
}

export interface Edges {
  readonly config: Config;
  /** Opened for this process alone: the agent's memory and its cache. Whoever opened it closes it. */
  readonly folder: Pick<StateFolder, "state" | "cache" | "obstacle">;
  readonly transport: Transport;
  /** Tells one API server from another if the cluster's own identity may not be read. */
  readonly address: () => Promise<string>;
  readonly controllers: LoadControllers;
  readonly bootId: string;
  /** Identifies this copy of the state folder on this machine. */
  readonly place: string;
  readonly version: string;
  /** Why the cache was thrown away before this agent began; undefined: it was not. */
  readonly rebuilt: Error | undefined;
  /** Called on changes the status file should show at once. */
  readonly news: () => void;
}

/** For how many term durations an unwell leader leaves the Lease to the others, before it stands again. */
const patienceWithOthers = 2;

const electionRate: RequestRate = { qps: 5, burst: 10 };

/** Mirrored under every configuration: Nodes, Leases and Pods, and namespaces if the site selects its own. */
const alwaysMirrored = ({ site }: Config): readonly Resource<KubeObject>[] =>
  site.namespaceSelector === undefined ? [nodes, leases, pods] : [nodes, leases, pods, namespaces];

/**
 * The whole object graph of the agent, in the order in which a delta travels through it: client, informers,
 * controllers, executor; and beside them the election, which decides when the controllers run.
 */
export class Agent {
  /** For companions. Objects no controller reads are not cached; on a cold standby the cache is stale. */
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly elector: LeaderElector;
  /** What commands do to the site, and to this board's Node. */
  readonly siteControls: AgentSiteControls;
  readonly counters: CounterBook;
  readonly #ambient: Ambient;
  readonly #config: Config;
  readonly #openedAt: Instant;
  readonly #rebuilt: Error | undefined;
  readonly #folder: Edges["folder"];
  readonly #link: ApiLink;
  readonly #traffic = new Traffic();
  readonly #permissions: Permissions;
  readonly #home: Home;
  readonly #informers: InformerSet;
  readonly #claims: SiteClaims;
  readonly #events: EventRecorder;
  readonly #executor: Executor;
  readonly #work: TermWork;
  readonly #holds: HoldBook;
  #self: WatchedBoard | undefined;

  constructor(ambient: Ambient, edges: Edges) {
    const { config, folder, transport, address, controllers, bootId, place, version, rebuilt, news } = edges;
    const { board, cache, client, leader, link, site } = config;
    this.#ambient = ambient;
    this.#config = config;
    this.#openedAt = ambient.clock.now();

    this.#folder = folder;
    this.#rebuilt = folder.cache.rebuilt ?? rebuilt;
    const memo = new Memo(folder.state.database);
    const at = { namespace: leader.namespace, name: `siteward-${site.name}` };
    const lease = `${at.namespace}/${at.name}`;
    const leaderMemo = new LeaderMemo({ facts: memo, place, lease });
    const identity = identityOf(board.name, ambient.random);

    this.#link = new ApiLink(ambient, { transport, changed: news, blip: link.blip });
    this.#permissions = new Permissions({ clock: ambient.clock, changed: news });
    const clientWith = apiClients(ambient, {
      link: this.#link,
      traffic: this.#traffic,
      timeouts: { ...client.timeouts, watch: client.timeouts.list },
      userAgent: `siteward/${version} (${board.name})`,
      reached: () => this.#informers.reached(),
      lost: () => this.#home.history.doubt(),
    });
    const permissions = this.#permissions;
    this.client = clientWith(client, { permissions, turn: (request) => this.#home.mayAsk(request) });
    // Missing permissions are not reported for this client; it works without them.
    const inquirer = clientWith(electionRate);
    this.#home = new Home(ambient, {
      client: inquirer,
      address,
      memo,
      leaderMemo,
      cache: folder.cache.database,
      at,
      informers: () => this.#informers,
      holds: () => this.#holds,
      renew: () => this.elector.renewNow(),
    });
    this.#informers = new InformerSet(ambient, {
      client: this.client,
      database: folder.cache.database,
      settings: { ...cache, limits: { stall: link.watchStall, blip: link.blip }, heartbeats: link.heartbeats },
      scope: site,
      history: this.#home.history,
      isUrgent: () => this.#work.loops.length > 0,
      rank: () => this.#claims.rank,
      patience: leader.renewDeadline / 4,
    });
    this.#holds = new HoldBook(ambient, {
      facts: memo,
      bootId,
      lease,
      recovery: config.judgement.recovery,
      isQuiet: (now) => this.#self?.isQuiet(now),
      publish: () => this.elector.renewNow(),
      changed: () => this.#work.holdsChanged(),
      over: (what) => this.#tellEnd(what),
    });
    this.counters = new CounterBook(ambient, {
      facts: memo,
      site: site.name,
      publish: () => this.elector.renewNow(),
    });
    const holds = (now: Instant): Holds => this.#holds.now(now);
    const sight = { settings: lifecycleSettings(config), judge: () => this.#work.judged(), holds };
    const workloads = workloadsOf(config);
    const mirrored = [...new Set([...alwaysMirrored(config), ...workloads.flatMap((name) => workloadReads[name])])];
    for (const resource of mirrored) this.#informers.informer(resource);

    this.#claims = new SiteClaims(ambient, {
      client: inquirer,
      at,
      ...claimSettings(leader),
      boards: this.#informers.informer(nodes).lister,
      namespaces: namespacesOf(this.#informers, site),
      changed: () => this.#work.wakeAll(),
    });
    this.caches = siteNamespaces(this.#informers, site, this.#claims);

    this.#events = new EventRecorder(ambient, { client: this.client, host: board.name });
    this.#executor = new Executor(ambient, {
      client: this.client,
      events: this.#events,
      inflight: client.inflight,
      isFrozen: (name) => this.#isFrozen(name),
      isOutdated: (since) => {
        const watches = { nodes: this.caches.informer(nodes).health, leases: this.caches.informer(leases).health };
        const now = ambient.clock.now();
        return isOutdated(linkOf(watches, sight.settings, now), since, sight.settings, now);
      },
    });
    const uncontested = uncontestedCaches(this.caches, this.#claims);
    this.#work = new TermWork(ambient, {
      config,
      identity,
      bootId,
      memo,
      leaderMemo,
      client: this.client,
      informers: this.#informers,
      claims: this.#claims,
      caches: this.caches,
      uncontested,
      executor: this.#executor,
      sight,
      workloads,
      controllers,
      holds: this.#holds,
      mirrored,
      whyToLeave: (now) => this.#whyToLeave(now),
      leave: (why) => this.elector.stepDown(why, patienceWithOthers * leader.duration),
      listen: (signal) => this.#home.listen(signal),
      news,
    });
    this.elector = new LeaderElector(ambient, {
      identity,
      board: board.node,
      timing: leader,
      formerIdentity: leaderMemo.formerIdentity(),
      formerTerm: leaderMemo.formerTerm(),
      formerRest: leaderMemo.formerRest(bootId, this.#openedAt),
      rests: (rest) => leaderMemo.rests(rest, bootId, ambient.clock.now()),
      remember: (term) => leaderMemo.saw(term),
      followers: leader.followers,
      lock: new LeaseLock({
        // A rate limit of its own: a burst of evictions must not delay a renewal.
        client: clientWith(electionRate, { permissions, turn: ({ signal }) => this.#informers.inTurn(signal) }),
        at,
        labels: siteLabels(site.name),
        annotations: siteAnnotations(site),
        history: this.#home.history,
      }),
      mayStand: (leaderlessFor) => folder.obstacle() ?? this.#whyNotToStand(leaderlessFor),
      announce: (event, under) => this.#events.record(event, under),
      carried: {
        [budgetAnnotation]: () => this.#work.budget(),
        [holdsAnnotation]: () => this.#holds.carried(),
        [countersAnnotation]: () => this.counters.carried(),
      },
      saw: ({ annotations, written }) => {
        this.#holds.saw(annotations[holdsAnnotation], written);
        this.counters.saw(annotations[countersAnnotation]);
      },
      lead: (under, found) => this.#work.lead(under, found),
    });
    this.siteControls = new AgentSiteControls({
      ambient,
      config,
      client: this.client,
      elector: this.elector,
      work: this.#work,
      holds: this.#holds,
      caches: uncontested,
      sight,
      executor: this.#executor,
      announce: (event, under) => this.#events.record(event, under),
    });
  }

  /** Runs until the signal aborts, then stops the controllers, releases the Lease and writes everything to disk. */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("events", (inner) => this.#events.run(inner));
    tasks.start("election", (inner) => this.elector.run(inner));
    tasks.start("history", (inner) => this.#home.history.watch(inner));
    if (this.#config.standby === "warm") tasks.start("informers", (inner) => this.#home.listen(inner));
    await tasks.join();
    // The release of the Lease proves everything that came before.
    this.#informers.settle();
  }

  /** How far the API server's clock is ahead of this board's; undefined: no answer has shown it yet. */
  get clockSkew(): Millis | undefined {
    return this.#link.skew;
  }

  /** Connects the companion that watches this board; called before `run`. */
  heed(self: WatchedBoard): void {
    this.#self = self;
  }

  /** The progress of the loops that must never stall. */
  progress(now: Instant): readonly Progress[] {
    return [this.elector.progress(), ...this.#work.loops.map((loop) => loop.progress(now))];
  }

  /** Frees memory whose content can be read or computed again. */
  shed(): void {
    this.#informers.shed();
    this.#folder.cache.database.shrink();
  }

  views(now: Instant): AgentViews {
    return viewsOf(
      {
        config: this.#config,
        elector: this.elector,
        link: this.#link,
        permissions: this.#permissions,
        claims: this.#claims,
        informers: this.#informers,
        isListening: this.#home.isListening,
        work: this.#work,
        holds: this.#holds.ordered,
        quiet: this.elector.view().role === "leader" ? this.#holds.quiet(now) : undefined,
        executor: this.#executor,
        traffic: this.#traffic,
        folder: this.#folder,
        rebuilt: this.#rebuilt,
        openedAt: this.#openedAt,
      },
      now,
    );
  }

  #isFrozen(board: string): boolean {
    const now = this.#ambient.clock.now();
    const holds = this.#holds.now(now);
    if (holds.freezes.size === 0) return false;
    return freezeOnBoard(holds, board, this.caches.informer(nodes).lister.get(board), now) !== undefined;
  }

  #whyNotToStand(leaderlessFor: Millis): string | undefined {
    const patience = patienceWithOthers * this.#config.leader.duration;
    return reasonNotToStand(this.#self?.sickness(), { leaderlessFor, patience });
  }

  #whyToLeave(now: Instant): string | undefined {
    const sickness = this.#self?.sickness();
    const { leader, board } = this.#config;
    return sickness && reasonToStepDown(sickness, peersOf(this.caches, board.node), { now, sickFor: leader.sickFor });
  }

  #tellEnd({ kind, subject, hold: { by } }: Ended): void {
    this.#ambient.log.info("a hold is over", { kind, subject, by });
    const { lease: about } = this.elector;
    const { term } = this.#work;
    if (about === undefined || term === undefined) return;
    const message = `The time of a ${kind} is over that ${by} ordered: ${subject}`;
    this.#events.record({ do: "event", about, severity: "Normal", reason: "HoldOver", message }, term);
  }
}
