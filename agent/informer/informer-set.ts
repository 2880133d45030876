import type { Database } from "../../storage/database.ts";
import { forgetResource, storedResources } from "../../storage/stored-resources.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import { isNotFound } from "../client/api-error.ts";
import type { Informer } from "./informer.ts";
import type { InformerStats } from "./informer-stats.ts";
import { kindOf } from "./kinds.ts";
import { ListTurns } from "./list-turns.ts";
import type { Lister } from "./lister.ts";
import { PerBoardInformer } from "./per-board-informer.ts";
import { PolledWatch } from "./polled-watch.ts";
import { type ComebackParts, ReconnectScheduler } from "./reconnect-scheduler.ts";
import type { ReflectorClient } from "./reflector-parts.ts";
import {
  hasNamespaces,
  isByBoard,
  isOfBoards,
  mayBeReleased,
  notBound,
  onBoard,
  type Selection,
  type SiteScope,
  selectionOf,
  storedName,
} from "./scope.ts";
import type { ServerHistory } from "./server-history.ts";
import { SharedInformer } from "./shared-informer.ts";
import type { WatchLimits } from "./watch-health.ts";

/** The part of the KubeClient that informers use. */
export interface InformerClient extends ReflectorClient {
  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { readonly namespace?: string | undefined; readonly name: string; readonly metadataOnly?: boolean },
    signal: AbortSignal,
  ): Promise<T>;
}

export interface InformerSettings {
  /** Objects per page of a list. */
  readonly pageSize: number;
  /** Pending deltas of one object beyond which they are merged. */
  readonly deltasPerObject: number;
  /** Budget for decoded objects in memory, for all resources together. */
  readonly decodedBytes: number;
  readonly limits: WatchLimits;
  /** How Leases of boards are read: "list" polls, which sends less and sees changes later. */
  readonly heartbeats?: "watch" | "list";
}

export interface InformerSetParts {
  readonly client: InformerClient;
  readonly database: Database;
  readonly settings: InformerSettings;
  readonly scope: SiteScope;
  /** See the SharedInformer. */
  readonly history?: ServerHistory | undefined;
  /** See the Reflector. */
  readonly isUrgent?: () => boolean;
  /** See the ReconnectScheduler: the known order of the sites, and how long the election can wait for its turn. */
  readonly rank?: ComebackParts["rank"];
  readonly patience?: Millis;
}

const syncLook: Millis = 25;
/** Maximum time for which the proof of a stored position is kept in memory only. */
const settlePeriod: Millis = 30_000;
/** Decoded pods get half of the budget, boards and their Leases an eighth each; workload kinds share the rest. */
const shares = new Map([
  [resourceName(pods), 1 / 2],
  [resourceName(nodes), 1 / 8],
  [resourceName(leases), 1 / 8],
]);
const shareOf = (resource: Resource<KubeObject>): number => shares.get(resourceName(resource)) ?? 1 / 20;
const fewestBoards = 8;
/** A leader reconnects before an interruption becomes an outage. */
const shareOfBlip = 0.9;
/** Two renewals of a kubelet. */
const heartbeatLook: Millis = 20_000;

/**
 * The caches of a site: one informer per resource, shared by all its users. Informers are requested before `run`. After
 * a run has ended, another one continues from the stored positions: a standby keeps its caches on disk and its watches
 * closed.
 */
export class InformerSet {
  readonly #ambient: Ambient;
  readonly #parts: InformerSetParts;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  readonly #turns = new ListTurns();
  readonly #comeback: ReconnectScheduler;
  #isRunning = false;

  constructor(ambient: Ambient, parts: InformerSetParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    const { settings, isUrgent = () => true, rank = () => undefined, patience = Number.POSITIVE_INFINITY } = parts;
    const within = Math.min(shareOfBlip * settings.limits.blip, patience);
    this.#comeback = new ReconnectScheduler(ambient, { within, isUrgent, rank });
  }

  informer<T extends KubeObject>(resource: Resource<T>): Informer<T> {
    const name = resourceName(resource);
    const known = this.#informers.get(name);
    // Each resource name maps to an informer of that resource's type.
    if (known) return known as Informer<T>;
    if (this.#isRunning) throw new Error(`an informer of ${name} was asked for while the informers run`);
    const informer = isByBoard(resource, this.#parts.scope) ? this.#openByBoard(resource) : this.#openWhole(resource);
    this.#informers.set(name, informer);
    return informer;
  }

  /** Ends when the signal aborts, with everything written; throws if the cache can no longer be used. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#isRunning) throw new Error("informers are already running");
    this.#isRunning = true;
    try {
      this.#forgetOthers();
      const tasks = new TaskGroup(signal);
      for (const [name, informer] of this.#informers) tasks.start(name, (inner) => this.#run(informer, inner));
      const { history } = this.#parts;
      if (history) {
        tasks.start("history", (inner) => history.follow(inner));
        tasks.start("lists", (inner) => history.proveLists(inner, () => this.settle()));
        tasks.start("proofs", (inner) => this.#settle(inner));
      }
      await tasks.join();
      this.flush();
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * Ends when the caches of these resources are filled and their watches are open, or when the signal aborts. A cache
   * filled by an earlier run may still be a day old then: see `caughtUp`.
   */
  async synced(resources: readonly Resource<KubeObject>[], signal: AbortSignal): Promise<void> {
    await this.#until(() => this.missing(resources).length === 0, signal);
  }

  /** Ends when these caches include everything that happened before this run began, or when the signal aborts. */
  async caughtUp(resources: readonly Resource<KubeObject>[], signal: AbortSignal): Promise<void> {
    await this.#until(() => resources.every((resource) => this.informer(resource).isCurrent), signal);
  }

  /** The resources, by name, whose caches are not reliable yet. */
  missing(resources: readonly Resource<KubeObject>[]): readonly string[] {
    return resources
      .filter((resource) => {
        const { hasSynced, health } = this.informer(resource);
        return !hasSynced || !health.connected;
      })
      .map(resourceName);
  }

  /** For a run that was ended on purpose: see the Informer. */
  pause(since: Instant): void {
    for (const informer of this.#informers.values()) informer.pause(since);
  }

  /** A request of this board was answered, so streams that lost the server can reconnect. */
  reached(): void {
    this.#comeback.reached();
  }

  /** Ends when this board's streams, if they were just lost, have their turn at the server. */
  async inTurn(signal: AbortSignal): Promise<void> {
    await this.#comeback.inTurn(signal);
  }

  /** Writes everything that is only in memory. */
  flush(): void {
    for (const informer of this.#informers.values()) informer.flush();
  }

  /** Stores the proofs of the stored positions: see the SharedInformer. */
  settle(): void {
    for (const informer of this.#informers.values()) informer.settle();
  }

  /** Releases memory: see the Informer. */
  shed(): void {
    for (const informer of this.#informers.values()) informer.shed();
  }

  stats(): readonly InformerStats[] {
    return [...this.#informers.values()].map((informer) => informer.stats());
  }

  async #settle(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#ambient.clock, settlePeriod, signal);
      this.settle();
    }
  }

  async #run(informer: Informer<KubeObject>, signal: AbortSignal): Promise<void> {
    // Which Leases are admitted depends on the known boards.
    if (isOfBoards(informer.resource, this.#parts.scope)) {
      const boards = this.informer(nodes);
      await this.#until(() => boards.hasSynced, signal);
    }
    await informer.run(signal);
  }

  async #until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !holds()) await sleep(this.#ambient.clock, syncLook, signal);
  }

  #openWhole<T extends KubeObject>(resource: Resource<T>): SharedInformer<T> {
    const { scope, settings } = this.#parts;
    const selection = selectionOf(resource, scope);
    const boards = isOfBoards(resource, scope) ? this.informer(nodes) : undefined;
    const admits = boards && (({ metadata }: KubeObject): boolean => boards.lister.get(metadata.name) !== undefined);
    const isListed = settings.heartbeats === "list" && resourceName(resource) === resourceName(leases);
    return this.#open(resource, {
      selection,
      name: storedName(resource, scope),
      client: isListed ? this.#polled(resource, admits) : this.#parts.client,
      // Each poll lists everything and compares.
      ...(isListed && { history: undefined }),
      decodedBytes: settings.decodedBytes * shareOf(resource),
      admits,
      isGone: mayBeReleased(selection) ? (object, signal) => this.#isGone(resource, object, signal) : undefined,
    });
  }

  #openByBoard<T extends KubeObject>(resource: Resource<T>): PerBoardInformer<T> {
    const { database, scope, settings } = this.#parts;
    const prefix = `${storedName(resource, scope)}@`;
    return new PerBoardInformer(this.#ambient, {
      resource,
      indices: kindOf(resource).indices,
      boards: this.informer(nodes),
      open: (board, boards) =>
        this.#open(resource, {
          selection: onBoard(board),
          name: `${prefix}${board}`,
          decodedBytes: (settings.decodedBytes * shareOf(resource)) / Math.max(boards, fewestBoards),
        }),
      stored: () =>
        storedResources(database)
          .filter((name) => name.startsWith(prefix))
          .map((name) => name.slice(prefix.length)),
      onNone: hasNamespaces(scope)
        ? (passing) =>
            this.#open(resource, {
              selection: notBound,
              name: prefix,
              decodedBytes: (settings.decodedBytes * shareOf(resource)) / fewestBoards,
              // Runs synchronously when the cache loses the pod, so no reader misses it in between.
              isGone: async (object, signal) => {
                passing.add(object);
                const isGone = await this.#isGone(resource, object, signal);
                if (isGone) passing.remove(keyOf(object));
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
    const { client, database, settings, isUrgent, history } = this.#parts;
    const { pageSize, deltasPerObject, limits } = settings;
    const shared = {
      client,
      database,
      pageSize,
      deltasPerObject,
      limits,
      isUrgent,
      history,
      comeback: this.#comeback,
      turns: this.#turns,
    };
    return new SharedInformer(this.#ambient, { kind: kindOf(resource), ...shared, ...how });
  }

  #polled(resource: Resource<KubeObject>, admits: ((object: KubeObject) => boolean) | undefined): ReflectorClient {
    const { client, settings } = this.#parts;
    const { pageSize, limits } = settings;
    const period = Math.min(heartbeatLook, limits.stall / 3);
    const mirrored = (): Lister<KubeObject> => this.informer(resource).lister;
    return new PolledWatch(this.#ambient.clock, { client, period, pageSize, mirrored, admits });
  }

  /** False also if the API does not answer: the object then counts as released, which is harmless. */
  async #isGone<T extends KubeObject>(resource: Resource<T>, object: T, signal: AbortSignal): Promise<boolean> {
    const { name, namespace, uid } = object.metadata;
    try {
      return (await this.#uidOf(resource, { name, namespace }, signal)) !== uid;
    } catch (error) {
      this.#ambient.log.debug("what became of an object is not known", {
        resource: resourceName(resource),
        name,
        error,
      });
      return false;
    }
  }

  /** As the API knows it now; undefined if it has no such object. */
  async #uidOf(
    resource: Resource<KubeObject>,
    at: { readonly name: string; readonly namespace?: string | undefined },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const { metadata } = await this.#parts.client.get(resource, { ...at, metadataOnly: true }, signal);
      return metadata.uid;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Drops what an earlier configuration stored: another scope, or a resource no longer requested. */
  #forgetOthers(): void {
    const { database, scope } = this.#parts;
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
