import { Memo } from "../storage/memo.ts";
import type { StateFolder } from "../storage/state-folder.ts";
import type { KubeObject } from "./api/meta.ts";
import { leases, namespaces, nodes, pods, type Resource } from "./api/resources.ts";
import type { Ambient } from "./base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "./base/clock.ts";
import { TaskGroup } from "./base/tasks.ts";
import { KubeClient } from "./client/kube-client.ts";
import { Permissions } from "./client/permissions.ts";
import { RequestLimiter, type RequestRate } from "./client/request-limiter.ts";
import { Traffic } from "./client/traffic.ts";
import type { Transport } from "./client/transport.ts";
import type { Config } from "./config/settings.ts";
import { controlLoops, type Loop, lifecycleSettings, type OpenLoop } from "./control-loops.ts";
import { decodeBudget, encodeBudget } from "./controllers/node-lifecycle/budget.ts";
import { siteKey } from "./controllers/node-lifecycle/controller.ts";
import type { BoardRecord, SiteMemory } from "./controllers/node-lifecycle/memory.ts";
import { type Workload, workloadsOf } from "./controllers/registry.ts";
import type { SightParts } from "./controllers/sight.ts";
import { InformerSet } from "./informer/informer-set.ts";
import { ApiLink } from "./runtime/api-link.ts";
import { leaderOwnsAll } from "./runtime/assignment.ts";
import { ControlLoop } from "./runtime/control-loop.ts";
import type { Term } from "./runtime/controller.ts";
import { EventRecorder } from "./runtime/event-recorder.ts";
import { Executor } from "./runtime/executor.ts";
import { HomeCluster } from "./runtime/home-cluster.ts";
import { LeaderElector } from "./runtime/leader-elector.ts";
import { LeaderMemo } from "./runtime/leader-memo.ts";
import type { Found } from "./runtime/leadership.ts";
import { budgetAnnotation, LeaseLock } from "./runtime/lease-lock.ts";
import { memoryArea } from "./runtime/memory-store.ts";
import { Permits } from "./runtime/permits.ts";
import { SiteClaims, selectorAnnotation, siteLabels } from "./runtime/site-claims.ts";
import { followNamespaces, siteNamespaces } from "./runtime/site-namespaces.ts";
import { CachedSiteView, type Caches } from "./runtime/site-view.ts";
import { TermOver } from "./runtime/term.ts";
import { uncontestedCaches } from "./runtime/uncontested-caches.ts";
import { type AgentViews, viewsOf } from "./views.ts";

export interface Edges {
  readonly config: Config;
  /** Open, and this process' alone: what the agent remembers and mirrors. Whoever opened it closes it. */
  readonly folder: Pick<StateFolder, "state" | "cache" | "obstacle">;
  readonly transport: Transport;
  /** Tells one API server from another where its cluster may not be asked. */
  readonly address: () => Promise<string>;
  readonly bootId: string;
  /** Names this very copy of the state folder in this very machine. */
  readonly place: string;
  readonly version: string;
  /** Why the cache was thrown away before this agent began, where it was. */
  readonly rebuilt: Error | undefined;
  /** Called when something changed that a person may be waiting for. */
  readonly news: () => void;
}

const electionRate: RequestRate = { qps: 5, burst: 10 };

/** Other sites are looked for once in so many durations of a term: every five minutes by default. */
const termsBetweenLooks = 5;

/** How often the end of an outage is looked for. */
const outageLook: Millis = 1000;

/** What is read whatever is configured: of boards, and where the site has namespaces of its own, these. */
const alwaysMirrored = ({ site }: Config): readonly Resource<KubeObject>[] =>
  site.namespaceSelector === undefined ? [nodes, leases, pods] : [nodes, leases, pods, namespaces];

/**
 * The whole object graph of the agent, in the order in which a delta travels through it: client, informers, controllers,
 * executor; and beside them the election, which says when the controllers run.
 */
export class Agent {
  readonly #ambient: Ambient;
  readonly #config: Config;
  readonly #bootId: string;
  readonly #openedAt: Instant;
  readonly #rebuilt: Error | undefined;
  readonly #news: () => void;
  readonly #folder: Edges["folder"];
  readonly #memo: Memo;
  readonly #leaderMemo: LeaderMemo;
  readonly #link: ApiLink;
  readonly #traffic = new Traffic();
  readonly #permissions: Permissions;
  readonly #client: KubeClient;
  readonly #home: HomeCluster;
  readonly #informers: InformerSet;
  readonly #claims: SiteClaims;
  readonly #caches: Caches;
  readonly #uncontested: Caches;
  readonly #events: EventRecorder;
  readonly #executor: Executor;
  readonly #elector: LeaderElector;
  readonly #sight: SightParts;
  readonly #sweeps = new Permits(1);
  readonly #workloads: readonly Workload[];
  readonly #mirrored: readonly Resource<KubeObject>[];
  #loops: readonly Loop[] = [];
  #judge: { memoryOf(key: string): SiteMemory | undefined } | undefined;
  #isListening = false;

  constructor(ambient: Ambient, { config, folder, transport, address, bootId, place, version, rebuilt, news }: Edges) {
    const { board, cache, client, leader, link, site } = config;
    this.#ambient = ambient;
    this.#config = config;
    this.#bootId = bootId;
    this.#news = news;
    this.#openedAt = ambient.clock.now();

    this.#folder = folder;
    this.#rebuilt = folder.cache.rebuilt ?? rebuilt;
    this.#memo = new Memo(folder.state.database);
    this.#leaderMemo = new LeaderMemo({ facts: this.#memo, place });

    this.#link = new ApiLink(ambient, { transport, changed: news });
    this.#permissions = new Permissions({ clock: ambient.clock, changed: news });
    this.#client = this.#clientOf(version, client, this.#permissions);
    // What it may not ask it does without: that is no problem to tell anybody about.
    const inquirer = this.#clientOf(version, electionRate);
    this.#home = new HomeCluster(ambient, { client: inquirer, address, facts: this.#memo });
    this.#informers = new InformerSet(ambient, {
      client: this.#client,
      database: folder.cache.database,
      settings: { ...cache, limits: { stall: link.watchStall, blip: link.blip }, heartbeats: link.heartbeats },
      scope: site,
      isUrgent: () => this.#loops.length > 0,
      rank: () => this.#claims.rank,
      patience: leader.renewDeadline / 4,
    });
    const judge = (): SiteMemory | "by nobody" | undefined =>
      this.#judge ? this.#judge.memoryOf(siteKey) : "by nobody";
    this.#sight = { settings: lifecycleSettings(config), judge };
    this.#workloads = workloadsOf({ config, sight: this.#sight });
    this.#mirrored = [...new Set([...alwaysMirrored(config), ...this.#workloads.flatMap(({ reads }) => reads)])];
    for (const resource of this.#mirrored) this.#informers.informer(resource);

    const at = { namespace: leader.namespace, name: `siteward-${site.name}` };
    this.#claims = new SiteClaims(ambient, {
      client: inquirer,
      at,
      boards: this.#informers.informer(nodes).lister,
      period: termsBetweenLooks * leader.duration,
      changed: () => this.#wakeAll(),
    });
    this.#caches = siteNamespaces(this.#informers, site);
    this.#uncontested = uncontestedCaches(this.#caches, this.#claims);

    this.#events = new EventRecorder(ambient, { client: this.#client, host: board.name });
    this.#executor = new Executor(ambient, { client: this.#client, events: this.#events, inflight: client.inflight });
    this.#elector = new LeaderElector(ambient, {
      identity: `${board.name}_${ambient.random.uuid()}`,
      timing: leader,
      formerIdentity: this.#leaderMemo.formerIdentity(),
      formerTerm: this.#leaderMemo.formerTerm(),
      remember: (term) => this.#leaderMemo.saw(term),
      followers: leader.followers,
      lock: new LeaseLock({
        // An allowance of its own: a burst of evictions must not delay a renewal.
        client: this.#clientOf(version, electionRate, this.#permissions, (signal) => this.#informers.inTurn(signal)),
        at,
        labels: siteLabels(site.name),
        annotations: { [selectorAnnotation]: site.nodeSelector ?? "" },
      }),
      mayStand: () => folder.obstacle(),
      announce: (event, under) => this.#events.record(event, under),
      budget: () => this.#budget(),
      lead: (under, found) => this.#lead(under, found),
    });
  }

  /** Until the signal aborts: then the controllers are stopped, the Lease is released and everything is written. */
  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("events", (inner) => this.#events.run(inner));
    tasks.start("election", (inner) => this.#elector.run(inner));
    if (this.#config.standby === "warm") tasks.start("informers", (inner) => this.#listen(inner));
    await tasks.join();
  }

  views(now: Instant): AgentViews {
    return viewsOf(
      {
        config: this.#config,
        elector: this.#elector,
        link: this.#link,
        permissions: this.#permissions,
        claims: this.#claims,
        informers: this.#informers,
        isListening: this.#isListening,
        loops: this.#loops,
        site: this.#judge?.memoryOf(siteKey),
        executor: this.#executor,
        traffic: this.#traffic,
        folder: this.#folder,
        rebuilt: this.#rebuilt,
        openedAt: this.#openedAt,
      },
      now,
    );
  }

  /** The work of a term. The caches are in step with the site before the first rule sees them. */
  async #lead(term: Term, { annotations }: Found): Promise<void> {
    const begun = this.#ambient.clock.now();
    this.#takeStock(term);
    const tasks = new TaskGroup(term.signal);
    const under: Term = { number: term.number, signal: tasks.signal, standsAt: (now) => term.standsAt(now) };
    const budget = decodeBudget(annotations[budgetAnnotation], begun);
    const judged = (board: string): BoardRecord | "by nobody" | undefined =>
      this.#judge ? this.#judge.memoryOf(siteKey)?.boards.get(board) : "by nobody";
    const left = { inherited: () => budget, boot: this.#bootId };
    const sight = this.#sight;
    const { settings } = sight;
    const parts = {
      nodeLifecycle: { settings, ...left },
      taintEviction: { settings, ...left, judged },
      podGC: { sight, terminatedThreshold: this.#config.podGC.terminatedThreshold },
    };
    const { judge, loops } = controlLoops(this.#config, parts, { workloads: this.#workloads, open: this.#open });
    this.#judge = judge;
    this.#loops = loops;
    if (this.#config.standby === "cold") tasks.start("informers", (signal) => this.#listen(signal));
    // Nothing is done to a board before it is known whether it is ours.
    const claims = this.#claims.learn(tasks.signal);
    tasks.start("claims", async (signal) => {
      // Which boards are claimed twice is told by the boards that are known.
      await Promise.all([claims, this.#informers.synced([nodes], signal)]);
      await this.#claims.follow(signal);
    });
    for (const loop of this.#loops) tasks.start("controller", () => this.#runLoop(loop, claims, under));
    tasks.start("outages", (signal) => this.#afterOutages(signal));
    const cameOrWent = (signal: AbortSignal): Promise<void> =>
      followNamespaces(this.#ambient.clock, { caches: this.#informers, changed: () => this.#wakeAll() }, signal);
    if (this.#mirrored.includes(namespaces)) tasks.start("namespaces", cameOrWent);
    this.#news();
    try {
      await tasks.join();
    } finally {
      this.#loops = [];
      this.#judge = undefined;
      if (this.#config.standby === "cold") this.#rest(term);
      this.#news();
    }
  }

  /** The watches were off because the term ended: that is an outage only where an outage ended the term. */
  #rest({ signal: { reason } }: Term): void {
    if (reason instanceof TermOver && reason.heard) this.#informers.pause(reason.at);
  }

  /** A controller whose resources the API server does not serve waits for them; the others do not. */
  async #runLoop(loop: Loop, claims: Promise<unknown>, term: Term): Promise<void> {
    const { clock, log } = this.#ambient;
    const begun = clock.now();
    // Before it is known which namespaces are the site's, none is.
    const selected = this.#mirrored.includes(namespaces) ? [namespaces] : [];
    const filled = this.#informers.synced([...loop.reads, ...selected], term.signal);
    const caught = loop.restsOn.length > 0 ? [...loop.restsOn, ...selected] : [];
    await Promise.all([filled, this.#informers.caughtUp(caught, term.signal), claims]);
    if (term.signal.aborted) return;
    const { name: controller } = loop.stats(clock.now());
    log.info("controller started", { controller, waitedMs: Math.round(elapsed(begun, clock.now())) });
    this.#news();
    await loop.run(term);
  }

  /**
   * Toleration times that this board stored are worth something only where nobody led in between: another leader may have
   * taken a taint away and put it on again, and one without timeAdded looks the same then.
   */
  #takeStock({ number }: Term): void {
    const isNext = this.#leaderMemo.leads(this.#elector.view().identity, number);
    if (!isNext) this.#memo.clear(memoryArea("taint-eviction"));
  }

  /** They share the connection and the account of bytes; each has an allowance of its own. */
  #clientOf(version: string, rate: RequestRate, permissions?: Permissions, turn?: InformerSet["inTurn"]): KubeClient {
    const { board, client } = this.#config;
    return new KubeClient(this.#ambient, {
      transport: async (request) => {
        await turn?.(request.signal);
        // A deadline that ran out in a wait of ours says nothing of the server.
        request.signal.throwIfAborted();
        const response = await this.#link.send(request);
        this.#informers.reached();
        return response;
      },
      traffic: this.#traffic,
      limiter: new RequestLimiter(this.#ambient, rate),
      timeouts: { ...client.timeouts, watch: client.timeouts.list },
      ...(permissions && { permissions }),
      userAgent: `siteward/${version} (${board.name})`,
    });
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const isEmpty = (): boolean => this.#informers.stats().every(({ synced, objects }) => !synced && objects === 0);
    await this.#home.check(isEmpty, signal);
    if (signal.aborted) return;
    this.#isListening = true;
    try {
      await this.#informers.run(signal);
    } finally {
      this.#isListening = false;
    }
  }

  /** What was given up during an outage is looked at once more when it is over, and need not wait for its next change. */
  async #afterOutages(signal: AbortSignal): Promise<void> {
    const restored = (): number =>
      Math.max(...this.#mirrored.map((resource) => this.#informers.informer(resource).health.restoredAt?.mono ?? 0));
    for (let last = restored(); !signal.aborted; ) {
      await sleep(this.#ambient.clock, outageLook, signal);
      const latest = restored();
      if (latest > last) this.#wakeAll();
      last = latest;
    }
  }

  #wakeAll(): void {
    for (const loop of this.#loops) loop.wakeAll();
    this.#news();
  }

  readonly #open: OpenLoop = (of) => (controller, workers) => {
    const caches = of === "boards" ? this.#uncontested : this.#caches;
    return new ControlLoop(this.#ambient, {
      controller,
      workers,
      caches,
      site: (pass) => new CachedSiteView({ caches, client: this.#client }, pass),
      executor: this.#executor,
      assignment: leaderOwnsAll,
      store: this.#memo,
      sweeps: this.#sweeps,
    });
  };

  #budget(): string | undefined {
    const memory = this.#judge?.memoryOf(siteKey);
    return memory && encodeBudget(memory, this.#ambient.clock.now());
  }
}
