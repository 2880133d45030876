import type { Database } from "../../storage/database/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import type { Replacement } from "../../storage/delta-fifo/list-replacement.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import type { Change, Key } from "../../storage/object.ts";
import { UnusableObjects } from "../../storage/unusable-objects.ts";
import { parserOf } from "../api/exact-integers.ts";
import type { KubeObject } from "../api/meta.ts";
import { leases, type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, nextTurn, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { dispositionOf } from "../base/errors.ts";
import { jitter } from "../base/random.ts";
import { BacklogAge } from "./backlog-age.ts";
import type { CacheRoom } from "./cache-room.ts";
import type { Informer, InformerEvent, InformerPart, Listen } from "./informer.ts";
import type { ReflectorClient } from "./informer-client.ts";
import type { InformerStats } from "./informer-stats.ts";
import type { Kind } from "./kinds/kinds.ts";
import type { ListTurns } from "./list-turns.ts";
import { Listeners } from "./listeners.ts";
import type { Lister } from "./lister.ts";
import type { ReconnectScheduler } from "./reflector/reconnect-scheduler.ts";
import type { ReflectorStore } from "./reflector/reflector.ts";
import { Reflector } from "./reflector/reflector.ts";
import type { Selection } from "./scope.ts";
import type { ServerHistory } from "./server-history.ts";
import { Trail } from "./trail.ts";
import { isLive, type WatchHealth, type WatchLimits } from "./watch-health.ts";

export interface SharedInformerDeps<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly selection: Selection;
  /** The name under which the cache stores this selection: see `storedName`. */
  readonly name: string;
  readonly database: Database;
  readonly client: ReflectorClient;
  readonly turns: ListTurns;
  readonly pageSize: number;
  readonly deltasPerObject: number;
  readonly decodedBytes: number;
  readonly limits: WatchLimits;
  /** See ReflectorDeps. */
  readonly isUrgent?: (() => boolean) | undefined;
  /** Proves stored positions; without it, they are trusted. */
  readonly history?: ServerHistory | undefined;
  /** See ReflectorDeps. */
  readonly reconnects?: ReconnectScheduler | undefined;
  /** See ReflectorDeps. */
  readonly admits?: ((object: T) => boolean) | undefined;
  /** See ReflectorDeps. */
  readonly room?: CacheRoom | undefined;
  /**
   * Checks in the API whether an object no longer exists; if it still exists, or the API does not respond, the object
   * is reported as released. Set only where DELETED may mean that an object left the selection.
   */
  readonly isGone?: ((object: T, signal: AbortSignal) => Promise<boolean>) | undefined;
}

const batchSize = 64;
const pauseAfterFailure: Millis = 1000;
/**
 * The minimum period between two resyncs; each is random, up to twice as long, as with kube-controller-manager's
 * `--min-resync-period`.
 */
const resyncPeriod: Millis = 12 * 3_600_000;
const resyncPause: Millis = 50;

/**
 * One selection of one resource. If nothing is pending, the Reflector's deltas are applied to the Indexer and reported
 * immediately. Otherwise (a list, a burst, the rest of an earlier run) they wait in the DeltaFIFO, and the pump applies
 * and reports them.
 *
 * Guarantees: listeners are called only once the change can be read; changes of one object arrive in order; an error of
 * one listener does not affect the others. Not every change is reported: a power cut between applying and reporting
 * loses the report, and quiet changes are never reported. A listener therefore reads all objects when it starts.
 */
export class SharedInformer<T extends KubeObject> implements Informer<T> {
  readonly lister: Lister<T>;
  readonly #ambient: Ambient;
  readonly #deps: SharedInformerDeps<T>;
  readonly #fifo: DeltaFIFO<T>;
  readonly #reflector: Reflector<T>;
  readonly #listeners: Listeners<T>;
  readonly #work: WakeSignal;
  readonly #trail: Trail | undefined;
  /** Resolves when the listeners have processed the last changes. Before that, later changes wait in the journal. */
  #reporting: Promise<void> | undefined;
  /** Whether the stored proof proves the stored position. */
  #isProven = true;
  readonly #backlog = new BacklogAge();

  constructor(ambient: Ambient, deps: SharedInformerDeps<T>) {
    this.#work = new WakeSignal(ambient.clock);
    const log = ambient.log.child({ resource: deps.name });
    const { database, name, kind, deltasPerObject, decodedBytes } = deps;
    this.#ambient = { ...ambient, log };
    this.#deps = deps;
    this.#listeners = new Listeners(log);
    const indexer = new Indexer<T>({
      ...{ database, resource: name, indices: kind.indices, decodedBytes },
      parse: parserOf(kind.resource),
    });
    this.lister = indexer;
    this.#fifo = new DeltaFIFO({
      database,
      resource: name,
      indexer,
      deltasPerObject,
      ...(kind.isQuiet && { isQuiet: kind.isQuiet }),
      ...(deps.history && { proof: (position: string) => this.#proofOf(position) }),
    });
    const { history } = deps;
    this.#trail = history && new Trail(history, this.#fifo.storedProof);
    this.#reflector = new Reflector(this.#ambient, {
      ...deps,
      resource: kind.resource,
      trim: kind.trim,
      unread: kind.unread,
      rejections: new UnusableObjects(database, name),
      proof: history && this.#trail && { history, trail: this.#trail },
      ...(history &&
        resourceName(kind.resource) === resourceName(leases) && {
          deliveredUpTo: (version: string, now: Instant) =>
            history.renewals.deliveredUpTo(version, deps.limits.blip, now),
        }),
      store: this.#intake(this.#fifo),
      stored: () => this.#work.ring(),
    });
  }

  get resource(): Resource<T> {
    return this.#deps.kind.resource;
  }

  get hasSynced(): boolean {
    return this.#fifo.hasSynced;
  }

  get isCurrent(): boolean {
    return this.#reflector.isCurrent && this.#fifo.depth === 0;
  }

  get health(): WatchHealth {
    return { ...this.#reflector.health, behindSince: this.#backlog.since };
  }

  get position(): string | undefined {
    return this.#fifo.depth === 0 ? this.#fifo.resourceVersion : undefined;
  }

  get parts(): readonly InformerPart[] {
    return [this];
  }

  onChange(listen: Listen<T>): () => void {
    return this.#listeners.add(listen);
  }

  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("reflector", (inner) => this.#reflector.run(inner));
    tasks.start("pump", (inner) => this.#pump(inner));
    tasks.start("resync", (inner) => this.#resync(inner));
    await tasks.join();
  }

  pause(since: Instant): void {
    this.#reflector.pause(since);
  }

  flush(): void {
    this.#fifo.flush();
  }

  /**
   * Stores the proof of the position. Without it, a power cut would cost a list, although the position has since been
   * proven.
   */
  storeProof(): void {
    const { resourceVersion } = this.#fifo;
    if (this.#isProven || resourceVersion === undefined || this.#trail?.proves(resourceVersion) !== true) return;
    this.#fifo.prove();
  }

  shed(): void {
    this.#fifo.dropDecoded();
  }

  stats(): InformerStats {
    const now = this.#ambient.clock.now();
    const { lastReceived, lastProof } = this.health;
    return {
      resource: this.#deps.name,
      synced: this.hasSynced,
      live: isLive(this.health, this.#deps.limits, now),
      receivedAgo: age(lastReceived, now),
      provenAgo: age(lastProof, now),
      ...this.#reflector.stats,
      depth: this.#fifo.depth,
      behind: this.#backlog.at(now),
      merged: this.#fifo.merged,
      objects: this.lister.size,
      position: this.#fifo.resourceVersion,
    };
  }

  /** Stores a list together with its proof. */
  #withProof(list: Replacement<T>): Replacement<T> {
    const trail = this.#trail;
    if (trail === undefined) return list;
    return {
      page: (objects) => list.page(objects),
      stageDeletions: () => list.stageDeletions(),
      abort: () => list.abort(),
      commit: (resourceVersion) => {
        trail.listed(resourceVersion);
        try {
          list.commit(resourceVersion);
          this.#deps.history?.listed();
        } catch (error) {
          trail.forget();
          throw error;
        }
      },
    };
  }

  #proofOf(position: string): string {
    this.#isProven = this.#trail?.proves(position) ?? true;
    return this.#trail?.text() ?? "";
  }

  /**
   * The store that the Reflector writes to. If the API must be asked whether objects still exist, all deltas go through
   * the journal, so that no later change of such an object is reported before the response arrives.
   */
  #intake(fifo: DeltaFIFO<T>): ReflectorStore<T> {
    return {
      get resourceVersion() {
        return fifo.resourceVersion;
      },
      get depth() {
        return fifo.depth;
      },
      newest: (key) => fifo.newest(key),
      bytes: (key) => fifo.bytes(key),
      append: (deltas, resourceVersion) => {
        const mustWait = this.#deps.isGone !== undefined || this.#reporting !== undefined;
        const changes = mustWait ? undefined : fifo.appendAndPop(deltas, resourceVersion);
        if (changes) this.#report(changes);
        else {
          fifo.append(deltas, resourceVersion);
          this.#backlog.added(fifo.depth, this.#ambient.clock.now());
        }
      },
      bookmark: (resourceVersion) => fifo.bookmark(resourceVersion),
      replace: () => this.#withProof(fifo.fill() ?? fifo.replace()),
    };
  }

  /** Calls the listeners. If they do not finish immediately, the pump waits for them and handles their errors. */
  #report(notices: readonly InformerEvent<T>[]): void {
    this.#reporting = this.#listeners.notify(notices);
    if (this.#reporting === undefined) return;
    this.#reporting.catch(() => undefined);
    this.#work.ring();
  }

  async #reported(): Promise<void> {
    try {
      await this.#reporting;
    } finally {
      this.#reporting = undefined;
    }
  }

  /** Handles pending deltas, beginning with those of an earlier run, until the signal aborts. */
  async #pump(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#drain(signal);
        await this.#work.wait(signal);
      } catch (error) {
        const disposition = dispositionOf(error);
        if (disposition === "rebuild" || disposition === "exit") throw error;
        this.#ambient.log.error("changes could not be applied", { error });
        await sleep(this.#ambient.clock, pauseAfterFailure, signal);
      }
    }
  }

  /**
   * Reports every object again, at most twice a day, in case a controller has missed something. No controller depends
   * on it, because each reads all objects when a term begins and when an outage has ended.
   */
  async #resync(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    for (;;) {
      await sleep(clock, jitter(random, resyncPeriod, 1), signal);
      if (signal.aborted) return;
      if (this.#deps.isUrgent?.() !== false) await this.#reportAgain(signal);
    }
  }

  /** Queues one batch after another, so that few objects are pending on disk at any time. */
  async #reportAgain(signal: AbortSignal): Promise<void> {
    let after: Key | undefined = "";
    while (after !== undefined && !signal.aborted) {
      if (this.#fifo.depth === 0) {
        after = this.#fifo.resync(after, batchSize);
        this.#work.ring();
      }
      await sleep(this.#ambient.clock, resyncPause, signal);
    }
  }

  /**
   * Applies and reports all pending deltas. Yields between two batches, because a burst must not delay a Lease renewal.
   */
  async #drain(signal: AbortSignal): Promise<void> {
    const { isGone } = this.#deps;
    this.#backlog.added(this.#fifo.depth, this.#ambient.clock.now());
    if (this.#reporting) await this.#reported();
    while (this.#fifo.depth > 0 && !signal.aborted) {
      if (this.#listeners.isEmpty) this.#fifo.skipReport();
      // Without isGone, nothing is awaited between pop and report, because otherwise newer changes would be reported
      // first.
      const pending = this.#fifo.depth;
      const changes = this.#fifo.pop(batchSize);
      this.#backlog.handled(pending - this.#fifo.depth, this.#fifo.depth, this.#ambient.clock.now());
      const notices = isGone ? await withReleases(changes, isGone, signal) : changes;
      if (signal.aborted) return;
      this.#report(notices);
      if (this.#reporting) await this.#reported();
      await nextTurn();
    }
  }
}

/** Marks deletions as releases if their objects are not known to be deleted. */
function withReleases<T>(
  changes: readonly Change<T>[],
  isGone: (object: T, signal: AbortSignal) => Promise<boolean>,
  signal: AbortSignal,
): Promise<readonly InformerEvent<T>[]> {
  return Promise.all(
    changes.map(async (change): Promise<InformerEvent<T>> => {
      const { before, after } = change;
      if (before === undefined || after !== undefined || (await isGone(before, signal))) return change;
      return { ...change, released: true };
    }),
  );
}

const age = (since: Instant | undefined, now: Instant): Millis | undefined => since && elapsed(since, now);
