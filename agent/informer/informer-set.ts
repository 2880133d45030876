import type { Database } from "../../storage/database/database.ts";
import { forgetResource, storedResources } from "../../storage/indexer/stored-resources.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { isNotFound } from "../client/api-error.ts";
import { CacheRoom, type CacheRoomDeps } from "./cache-room.ts";
import type { Informer, InformerPart } from "./informer.ts";
import type { InformerClient, ReflectorClient } from "./informer-client.ts";
import type { InformerStats } from "./informer-stats.ts";
import { kindOf } from "./kinds/kinds.ts";
import { ListTurns } from "./list-turns.ts";
import type { Lister } from "./lister.ts";
import { PerBoardInformer } from "./per-board-informer.ts";
import { PolledWatch } from "./polled-watch.ts";
import type { ReconnectScheduler } from "./reflector/reconnect-scheduler.ts";
import {
  hasNamespaces,
  isByBoard,
  isOfBoards,
  mayBeReleased,
  onBoard,
  type Selection,
  type SiteScope,
  selectionOf,
  storedName,
  unboundPods,
} from "./scope.ts";
import type { RenewLease, ServerHistory } from "./server-history.ts";
import { SharedInformer } from "./shared-informer.ts";
import type { WatchLimits } from "./watch-health.ts";

export interface InformerSettings {
  /** Objects per page of a list. */
  readonly pageSize: number;
  /** Number of pending deltas of one object above which they are merged. */
  readonly deltasPerObject: number;
  /** Budget for decoded objects in memory, in bytes, for all resources together. */
  readonly decodedBytes: number;
  readonly limits: WatchLimits;
  /** How Leases of boards are read. "list": polled, which transfers less data but shows renewals later. */
  readonly heartbeats?: "watch" | "list";
}

export interface InformerSetDeps {
  readonly client: InformerClient;
  readonly database: Database;
  readonly settings: InformerSettings;
  readonly scope: SiteScope;
  /** See SharedInformerDeps. */
  readonly history?: ServerHistory | undefined;
  /** See CacheRoomDeps; without it, the disk has no limits. */
  readonly disk?: CacheRoomDeps["disk"];
  /** See ReflectorDeps. */
  readonly isUrgent?: () => boolean;
  /** See ReflectorDeps. */
  readonly reconnects?: ReconnectScheduler;
}

/** A wait for caches. */
export interface CacheWait {
  readonly done: Promise<void>;
  /** The names of the resources that are still waited for. */
  missing(): readonly string[];
}

const syncPollPeriod: Millis = 25;
/** How long the proof of a stored position is kept only in memory. */
const proofPeriod: Millis = 30_000;
/** Parts of the budget for decoded objects. Every other resource gets a twentieth. */
const shares = new Map([
  [resourceName(pods), 1 / 2],
  [resourceName(nodes), 1 / 8],
  [resourceName(leases), 1 / 8],
]);
const shareOf = (resource: Resource<KubeObject>): number => shares.get(resourceName(resource)) ?? 1 / 20;
/** The pods' budget is divided by the number of boards, but by no less than this number. */
const minBoards = 8;
/** Twice the interval at which a kubelet renews its Lease. */
const heartbeatPollPeriod: Millis = 20_000;

/**
 * The caches of a site: one informer per resource, shared by all its users. Informers are requested before `run`. After
 * a run has ended, another run continues from the stored positions; in between, a standby keeps its caches on disk and
 * its watches closed.
 */
export class InformerSet {
  readonly #ambient: Ambient;
  readonly #deps: InformerSetDeps;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  readonly #turns = new ListTurns();
  readonly #room: CacheRoom;
  #isRunning = false;

  constructor(ambient: Ambient, deps: InformerSetDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#room = new CacheRoom({ database: deps.database, disk: deps.disk ?? (() => undefined) });
  }

  /** The informer of a resource, created at the first call. Throws if it would have to be created during a run. */
  informer<T extends KubeObject>(resource: Resource<T>): Informer<T> {
    const name = resourceName(resource);
    const known = this.#informers.get(name);
    // Each resource name maps to an informer of that resource's type.
    if (known) return known as Informer<T>;
    if (this.#isRunning) throw new Error(`an informer for ${name} was requested while the informers were running`);
    const informer = isByBoard(resource, this.#deps.scope) ? this.#openByBoard(resource) : this.#openWhole(resource);
    this.#informers.set(name, informer);
    return informer;
  }

  /**
   * Runs all informers until the signal aborts, and then writes what is only in memory. Throws if the cache can no
   * longer be used. `renew` proves new lists: see ServerHistory.proveLists.
   */
  async run(signal: AbortSignal, renew?: RenewLease): Promise<void> {
    if (this.#isRunning) throw new Error("informers are already running");
    this.#isRunning = true;
    try {
      this.#forgetOthers();
      const tasks = new TaskGroup(signal);
      for (const [name, informer] of this.#informers) tasks.start(name, (inner) => this.#run(informer, inner));
      const { history } = this.#deps;
      if (history) {
        tasks.start("history", (inner) => history.follow(inner));
        const proven = (): void => this.storeProofs();
        if (renew) tasks.start("lists", (inner) => history.proveLists(inner, { renew, proven }));
        tasks.start("proofs", (inner) => this.#storeProofs(inner));
      }
      await tasks.join();
      this.flush();
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * Completes once the caches of these resources are filled and each of their watches has been connected at some time
   * since the call, or when the signal aborts. A cache filled by an earlier run may still be a day old at that point:
   * see `caughtUp`.
   */
  synced(resources: readonly Resource<KubeObject>[], signal: AbortSignal): CacheWait {
    return this.#eachOnce(resources, ({ health }) => health.connected, signal);
  }

  /**
   * Completes once each of these caches has caught up with the state at the beginning of this run, or when the signal
   * aborts. The caches need not be current at the same moment: each must have been current once since the call.
   */
  caughtUp(resources: readonly Resource<KubeObject>[], signal: AbortSignal): CacheWait {
    return this.#eachOnce(resources, ({ isCurrent }) => isCurrent, signal);
  }

  /** See Informer.pause. */
  pause(since: Instant): void {
    for (const informer of this.#informers.values()) informer.pause(since);
  }

  /** Writes everything that is only in memory. */
  flush(): void {
    for (const informer of this.#informers.values()) informer.flush();
  }

  /** See Informer.storeProof. */
  storeProofs(): void {
    for (const informer of this.#informers.values()) informer.storeProof();
  }

  /** See Informer.shed. */
  shed(): void {
    for (const informer of this.#informers.values()) informer.shed();
  }

  stats(): readonly InformerStats[] {
    return [...this.#informers.values()].map((informer) => informer.stats());
  }

  async #storeProofs(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#ambient.clock, proofPeriod, signal);
      this.storeProofs();
    }
  }

  async #run(informer: Informer<KubeObject>, signal: AbortSignal): Promise<void> {
    // Only the Leases of known boards are admitted, so the boards must be listed first.
    if (isOfBoards(informer.resource, this.#deps.scope)) {
      const boards = this.informer(nodes);
      await this.#until(() => boards.hasSynced, signal);
    }
    await informer.run(signal);
  }

  /**
   * Completes once the caches are filled and each of their parts has met the condition. They need not meet it at the
   * same moment, because on an unstable link one of thirty watches may always be reconnecting (D145).
   */
  #eachOnce(
    resources: readonly Resource<KubeObject>[],
    holds: (part: InformerPart) => boolean,
    signal: AbortSignal,
  ): CacheWait {
    const informers = resources.map((resource) => this.informer(resource));
    const met = new Set<InformerPart>();
    const isReady = ({ hasSynced, parts }: Informer<KubeObject>): boolean =>
      hasSynced && parts.every((part) => met.has(part));
    const done = this.#until(() => {
      for (const { parts } of informers) for (const part of parts) if (holds(part)) met.add(part);
      return informers.every(isReady);
    }, signal);
    return {
      done,
      missing: () => informers.filter((one) => !isReady(one)).map(({ resource }) => resourceName(resource)),
    };
  }

  async #until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !holds()) await sleep(this.#ambient.clock, syncPollPeriod, signal);
  }

  #openWhole<T extends KubeObject>(resource: Resource<T>): SharedInformer<T> {
    const { scope, settings } = this.#deps;
    const selection = selectionOf(resource, scope);
    const boards = isOfBoards(resource, scope) ? this.informer(nodes) : undefined;
    const admits = boards && (({ metadata }: KubeObject): boolean => boards.lister.get(metadata.name) !== undefined);
    const isListed = settings.heartbeats === "list" && resourceName(resource) === resourceName(leases);
    return this.#open(resource, {
      selection,
      name: storedName(resource, scope),
      client: isListed ? this.#polled(resource, admits) : this.#deps.client,
      // No proof is needed, because each poll lists everything and compares it with the cache.
      ...(isListed && { history: undefined }),
      decodedBytes: settings.decodedBytes * shareOf(resource),
      admits,
      isGone: mayBeReleased(selection) ? (object, signal) => this.#isGone(resource, object, signal) : undefined,
    });
  }

  #openByBoard<T extends KubeObject>(resource: Resource<T>): PerBoardInformer<T> {
    const { database, scope, settings } = this.#deps;
    const prefix = `${storedName(resource, scope)}@`;
    return new PerBoardInformer(this.#ambient, {
      resource,
      indices: kindOf(resource).indices,
      boards: this.informer(nodes),
      open: (board, boards) =>
        this.#open(resource, {
          selection: onBoard(board),
          name: `${prefix}${board}`,
          decodedBytes: (settings.decodedBytes * shareOf(resource)) / Math.max(boards, minBoards),
        }),
      stored: () =>
        storedResources(database)
          .filter((name) => name.startsWith(prefix))
          .map((name) => name.slice(prefix.length)),
      onNone: hasNamespaces(scope)
        ? (handovers) =>
            this.#open(resource, {
              selection: unboundPods,
              name: prefix,
              decodedBytes: (settings.decodedBytes * shareOf(resource)) / minBoards,
              // Called synchronously when the pod leaves the cache, so that the pod is always either in the cache or in
              // `handovers`.
              isGone: async (object, signal) => {
                handovers.add(object);
                const isGone = await this.#isGone(resource, object, signal);
                if (isGone) handovers.remove(keyOf(object));
                return isGone;
              },
            })
        : undefined,
      forget: (board) => forgetResource(database, `${prefix}${board}`),
      exists: async (board, signal) => (await this.#uidOf(nodes, { name: board }, signal)) !== undefined,
    });
  }

  #open<T extends KubeObject>(
    resource: Resource<T>,
    how: {
      readonly selection: Selection;
      readonly name: string;
      readonly client?: ReflectorClient;
      readonly history?: undefined;
      readonly decodedBytes: number;
      readonly admits?: ((object: T) => boolean) | undefined;
      readonly isGone?: ((object: T, signal: AbortSignal) => Promise<boolean>) | undefined;
    },
  ): SharedInformer<T> {
    const { client, database, settings, isUrgent, history, reconnects } = this.#deps;
    const { pageSize, deltasPerObject, limits } = settings;
    const shared = {
      client,
      database,
      pageSize,
      deltasPerObject,
      limits,
      isUrgent,
      history,
      reconnects,
      turns: this.#turns,
      room: this.#room,
    };
    return new SharedInformer(this.#ambient, { kind: kindOf(resource), ...shared, ...how });
  }

  #polled(resource: Resource<KubeObject>, admits: ((object: KubeObject) => boolean) | undefined): ReflectorClient {
    const { client, settings } = this.#deps;
    const { pageSize, limits } = settings;
    const period = Math.min(heartbeatPollPeriod, limits.stall / 3);
    const mirrored = (): Lister<KubeObject> => this.informer(resource).lister;
    return new PolledWatch(this.#ambient.clock, { client, period, pageSize, mirrored, admits });
  }

  /**
   * Asks the API whether the object was deleted. Also false if the API does not respond; in that case, the object
   * counts as released, which is harmless.
   */
  async #isGone<T extends KubeObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<boolean> {
    const { name, namespace, uid } = object.metadata;
    try {
      return (await this.#uidOf(resource, { name, namespace }, signal)) !== uid;
    } catch (error) {
      this.#ambient.log.debug("cannot check whether an object was deleted", {
        resource: resourceName(resource),
        name,
        error,
      });
      return false;
    }
  }

  /** The uid of the object with this name in the API; undefined if there is none. */
  async #uidOf(
    resource: Resource<KubeObject>,
    at: { readonly name: string; readonly namespace?: string | undefined },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const { metadata } = await this.#deps.client.get(resource, { ...at, metadataOnly: true }, signal);
      return metadata.uid;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Drops stored resources of an earlier configuration: those with another scope, or without an informer now. */
  #forgetOthers(): void {
    const { database, scope } = this.#deps;
    const names = [...this.#informers.values()].map(({ resource }) => ({
      name: storedName(resource, scope),
      isPrefix: isByBoard(resource, scope),
    }));
    for (const stored of storedResources(database)) {
      const isOurs = names.some(({ name, isPrefix }) => (isPrefix ? stored.startsWith(`${name}@`) : stored === name));
      if (!isOurs) forgetResource(database, stored);
    }
  }
}
