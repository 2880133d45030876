import { join } from "node:path";
import type { Pragmas } from "../storage/database.ts";
import type { StorageError } from "../storage/errors.ts";
import { Memo } from "../storage/memo.ts";
import { openCache, openState } from "../storage/open.ts";
import type { KubeObject } from "./api/meta.ts";
import { leases, nodes, pods, type Resource } from "./api/resources.ts";
import type { Ambient } from "./base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "./base/clock.ts";
import { TaskGroup } from "./base/tasks.ts";
import { KubeClient } from "./client/kube-client.ts";
import { RequestLimiter, type RequestRate } from "./client/request-limiter.ts";
import { Traffic, type TrafficRow } from "./client/traffic.ts";
import type { Transport } from "./client/transport.ts";
import type { Config } from "./config/settings.ts";
import { decodeBudget, encodeBudget } from "./controllers/node-lifecycle/budget.ts";
import { siteKey } from "./controllers/node-lifecycle/controller.ts";
import type { SiteMemory } from "./controllers/node-lifecycle/memory.ts";
import { type ControllerParts, registry } from "./controllers/registry.ts";
import { InformerSet } from "./informer/informer-set.ts";
import type { InformerStats } from "./informer/informer-stats.ts";
import { ApiLink, type ApiLinkView } from "./runtime/api-link.ts";
import { leaderOwnsAll } from "./runtime/assignment.ts";
import { ControlLoop, type ControllerStats } from "./runtime/control-loop.ts";
import type { Controller, Term } from "./runtime/controller.ts";
import { EventRecorder } from "./runtime/event-recorder.ts";
import { Executor } from "./runtime/executor.ts";
import { type ElectorView, LeaderElector } from "./runtime/leader-elector.ts";
import type { Found } from "./runtime/leadership.ts";
import { budgetAnnotation, LeaseLock } from "./runtime/lease-lock.ts";
import { CachedSiteView } from "./runtime/site-view.ts";

export interface Edges {
  readonly config: Config;
  readonly transport: Transport;
  readonly bootId: string;
  readonly version: string;
}

/** What the parts know of themselves at an instant, for the status. */
export interface AgentViews {
  readonly config: Config;
  readonly election: ElectorView;
  readonly link: ApiLinkView;
  readonly informers: readonly InformerStats[];
  readonly isListening: boolean;
  readonly controllers: readonly ControllerStats[];
  /** What the leader holds of boards and zones; undefined: another board leads. */
  readonly site: SiteMemory | undefined;
  readonly harmLastHour: number;
  readonly traffic: readonly TrafficRow[];
  readonly cache: { readonly file: string; readonly fileBytes: number; readonly walBytes: number };
  readonly rebuilt: StorageError | undefined;
  readonly openedAt: Instant;
  readonly setAside: { readonly file: string; readonly why: StorageError } | undefined;
}

const electionRate: RequestRate = { qps: 5, burst: 10 };

/** How often the end of an outage is looked for. */
const outageLook: Millis = 1000;

/** What the controllers of this version read. */
const mirrored: readonly Resource<KubeObject>[] = [nodes, leases, pods];

/**
 * The whole object graph of the agent, in the order in which a delta travels through it: client, informers, controllers,
 * executor; and beside them the election, which says when the controllers run.
 */
export class Agent {
  readonly #ambient: Ambient;
  readonly #config: Config;
  readonly #bootId: string;
  readonly #openedAt: Instant;
  readonly #state: ReturnType<typeof openState>;
  readonly #cache: ReturnType<typeof openCache>;
  readonly #memo: Memo;
  readonly #link: ApiLink;
  readonly #traffic = new Traffic();
  readonly #client: KubeClient;
  readonly #informers: InformerSet;
  readonly #events: EventRecorder;
  readonly #executor: Executor;
  readonly #elector: LeaderElector;
  #loops: readonly Loop[] = [];
  #judge: { memoryOf(key: string): SiteMemory | undefined } | undefined;
  #isListening = false;

  constructor(ambient: Ambient, { config, transport, bootId, version }: Edges) {
    const { board, cache, client, leader, link, site } = config;
    this.#ambient = ambient;
    this.#config = config;
    this.#bootId = bootId;
    this.#openedAt = ambient.clock.now();

    const file = (name: string): string => join(config.state.folder, name);
    const stamp = String(this.#openedAt.wall);
    this.#state = openState({ file: file("state.db"), pragmas: pragmasOf(config, "FULL"), stamp });
    this.#cache = openCache({ file: file("cache.db"), pragmas: pragmasOf(config, "NORMAL") });
    this.#memo = new Memo(this.#state.database);

    this.#link = new ApiLink(ambient, { transport });
    this.#client = this.#clientOf(version, client);
    this.#informers = new InformerSet(ambient, {
      client: this.#client,
      database: this.#cache.database,
      settings: { ...cache, limits: { stall: link.watchStall, blip: link.blip } },
      scope: site,
    });
    for (const resource of mirrored) this.#informers.informer(resource);

    this.#events = new EventRecorder(ambient, { client: this.#client, host: board.name });
    this.#executor = new Executor(ambient, { client: this.#client, events: this.#events, inflight: client.inflight });
    const term = Number(this.#memo.get("leader", "term"));
    this.#elector = new LeaderElector(ambient, {
      identity: `${board.name}_${ambient.random.uuid()}`,
      timing: leader,
      formerIdentity: this.#memo.get("leader", "identity"),
      formerTerm: Number.isInteger(term) && term > 0 ? term : undefined,
      followers: leader.followers,
      lock: new LeaseLock({
        // An allowance of its own: a burst of evictions must not delay a renewal.
        client: this.#clientOf(version, electionRate),
        at: { namespace: leader.namespace, name: `siteward-${site.name}` },
        labels: { "app.kubernetes.io/managed-by": "siteward", "siteward.dev/site": site.name },
      }),
      mayStand: () => undefined,
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

  /** Everything in memory is written, the logs of both files are folded in. */
  close(): void {
    this.#cache.database.close();
    this.#state.database.close();
  }

  /** Lets go of a cache that is damaged; nothing more is written to it. */
  abandon(): void {
    this.#cache.database.abandon();
    this.#state.database.close();
  }

  views(now: Instant): AgentViews {
    const { file, wal } = this.#cache.database.sizes();
    return {
      config: this.#config,
      election: this.#elector.view(),
      link: this.#link.view(),
      informers: this.#informers.stats(),
      isListening: this.#isListening,
      controllers: this.#loops.map((loop) => loop.stats(now)),
      site: this.#judge?.memoryOf(siteKey),
      harmLastHour: this.#executor.harmLastHour(now),
      traffic: this.#traffic.snapshot(),
      cache: { file: this.#cache.database.file, fileBytes: file, walBytes: wal },
      rebuilt: this.#cache.rebuilt,
      openedAt: this.#openedAt,
      setAside: this.#state.setAside,
    };
  }

  /** The work of a term. The caches are in step with the site before the first rule sees them. */
  async #lead(term: Term, { annotations }: Found): Promise<void> {
    const { clock, log } = this.#ambient;
    const begun = clock.now();
    this.#memo.set("leader", "identity", this.#elector.view().identity);
    this.#memo.set("leader", "term", String(term.number));
    const tasks = new TaskGroup(term.signal);
    const under: Term = { number: term.number, signal: tasks.signal, standsAt: (now) => term.standsAt(now) };
    const budget = decodeBudget(annotations[budgetAnnotation], begun);
    this.#loops = this.#controlLoops(controllerParts(this.#config, { inherited: () => budget, boot: this.#bootId }));
    if (this.#config.standby === "cold") tasks.start("informers", (signal) => this.#listen(signal));
    tasks.start("controllers", async (signal) => {
      await this.#informers.synced(signal);
      if (signal.aborted) return;
      log.info("controllers started", { term: term.number, syncedMs: Math.round(elapsed(begun, clock.now())) });
      for (const loop of this.#loops) tasks.start("controller", () => loop.run(under));
    });
    tasks.start("outages", (signal) => this.#afterOutages(signal));
    try {
      await tasks.join();
    } finally {
      this.#loops = [];
      this.#judge = undefined;
    }
  }

  /** They share the connection and the account of bytes; each has an allowance of its own. */
  #clientOf(version: string, rate: RequestRate): KubeClient {
    const { board, client } = this.#config;
    return new KubeClient(this.#ambient, {
      transport: this.#link.send,
      traffic: this.#traffic,
      limiter: new RequestLimiter(this.#ambient, rate),
      timeouts: { ...client.timeouts, watch: client.timeouts.list },
      userAgent: `siteward/${version} (${board.name})`,
    });
  }

  /** Those that the configuration asks for. */
  #controlLoops(parts: ControllerParts): readonly Loop[] {
    const { controllers, taintEviction } = this.#config;
    const loops: Loop[] = [];
    if (controllers.nodeLifecycle.mode === "act") {
      const judge = this.#loopOf(registry["node-lifecycle"](parts), 1);
      this.#judge = judge;
      loops.push(
        judge,
        this.#loopOf(registry["node-taints"](), judgeWorkers),
        this.#loopOf(registry["pod-readiness"](parts), judgeWorkers),
      );
    }
    if (controllers.taintEviction.mode === "act") {
      loops.push(this.#loopOf(registry["taint-eviction"](parts), taintEviction.workers));
    }
    return loops;
  }

  async #listen(signal: AbortSignal): Promise<void> {
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
      Math.max(...mirrored.map((resource) => this.#informers.informer(resource).health.restoredAt?.mono ?? 0));
    for (let last = restored(); !signal.aborted; ) {
      await sleep(this.#ambient.clock, outageLook, signal);
      const latest = restored();
      if (latest > last) for (const loop of this.#loops) loop.wakeAll();
      last = latest;
    }
  }

  #loopOf<State, Memory>(controller: Controller<State, Memory>, workers: number): ControlLoop<State, Memory> {
    return new ControlLoop(this.#ambient, {
      controller,
      workers,
      caches: this.#informers,
      site: (pass) => new CachedSiteView({ caches: this.#informers, client: this.#client }, pass),
      executor: this.#executor,
      assignment: leaderOwnsAll,
      store: this.#memo,
    });
  }

  #budget(): string | undefined {
    const memory = this.#judge?.memoryOf(siteKey);
    return memory && encodeBudget(memory, this.#ambient.clock.now());
  }
}

/** What is asked of every control loop, whatever its controller thinks about. */
type Loop = Pick<ControlLoop<never, never>, "run" | "stats" | "wakeAll">;

/** As many of them as kube-controller-manager has: they mostly wait for answers. */
const judgeWorkers = 8;

/** Each controller gets its own slice of the configuration. */
function controllerParts(
  { judgement, nodeLifecycle, link }: Config,
  { inherited, boot }: Pick<ControllerParts["taintEviction"], "inherited" | "boot">,
): ControllerParts {
  const limits = { stall: link.watchStall, blip: link.blip };
  return {
    nodeLifecycle: { settings: { ...nodeLifecycle, ...judgement, ...limits }, inherited },
    taintEviction: { settings: { gracePeriod: nodeLifecycle.gracePeriod, ...limits }, boot, inherited },
  };
}

function pragmasOf({ cache: { sqlite } }: Config, synchronous: Pragmas["synchronous"]): Pragmas {
  return { ...sqlite, synchronous };
}
