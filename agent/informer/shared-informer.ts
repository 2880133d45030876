import type { Database } from "../../storage/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo.ts";
import { Indexer } from "../../storage/indexer.ts";
import type { Change, Key } from "../../storage/object.ts";
import type { Replacement } from "../../storage/replacement.ts";
import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, nextTurn, sleep } from "../base/clock.ts";
import { dispositionOf } from "../base/errors.ts";
import { jitter } from "../base/random.ts";
import { TaskGroup } from "../base/tasks.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { BacklogAge } from "./backlog-age.ts";
import type { Informer, Listen, Notice } from "./informer.ts";
import type { InformerStats } from "./informer-stats.ts";
import type { Kind } from "./kinds.ts";
import type { ListTurns } from "./list-turns.ts";
import { Listeners } from "./listeners.ts";
import type { Lister } from "./lister.ts";
import type { ReconnectScheduler } from "./reconnect-scheduler.ts";
import { Reflector } from "./reflector.ts";
import type { ReflectorClient, ReflectorStore } from "./reflector-parts.ts";
import type { Selection } from "./scope.ts";
import type { ServerHistory } from "./server-history.ts";
import { Trail } from "./trail.ts";
import { isLive, type WatchHealth, type WatchLimits } from "./watch-health.ts";

export interface SharedInformerParts<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly selection: Selection;
  /** The cache's name for this selection; another selection has another name. */
  readonly name: string;
  readonly database: Database;
  readonly client: ReflectorClient;
  readonly turns: ListTurns;
  readonly pageSize: number;
  readonly deltasPerObject: number;
  readonly decodedBytes: number;
  readonly limits: WatchLimits;
  /** See the Reflector. */
  readonly isUrgent?: (() => boolean) | undefined;
  /** Without it, stored positions are trusted. */
  readonly history?: ServerHistory | undefined;
  /** See the Reflector. */
  readonly comeback?: ReconnectScheduler | undefined;
  /** See the Reflector. */
  readonly admits?: ((object: T) => boolean) | undefined;
  /**
   * Present if DELETED may only mean that an object left the selection: asks the API whether this very object is gone.
   * Objects not known to be gone are reported as released.
   */
  readonly isGone?: ((object: T, signal: AbortSignal) => Promise<boolean>) | undefined;
}

const batchSize = 64;
const pauseAfterFailure: Millis = 1000;
/** Up to twice as long. As in kube-controller-manager, whose informers share one period. */
const resyncPeriod: Millis = 12 * 3_600_000;
const resyncPause: Millis = 50;

/**
 * One selection of one resource: a Reflector, whose deltas are applied to the Indexer and reported at once if nothing
 * is pending, and a pump that does the same for deltas that waited in the DeltaFIFO: a list, a burst, or the rest of an
 * earlier run.
 *
 * Promises: listeners are called after the change can be read; changes of one object arrive in order; a listener that
 * throws stops no other. Not promised: that every change is reported (a power cut between applying and reporting loses
 * it, and quiet changes are never reported). A listener reads states when it begins, and keys afterwards.
 */
export class SharedInformer<T extends KubeObject> implements Informer<T> {
  readonly #ambient: Ambient;
  readonly #parts: SharedInformerParts<T>;
  readonly #indexer: Indexer<T>;
  readonly #fifo: DeltaFIFO<T>;
  readonly #reflector: Reflector<T>;
  readonly #listeners: Listeners<T>;
  readonly #work: WakeSignal;
  readonly #trail: Trail | undefined;
  /** Listeners still work on earlier changes. Later changes wait in the journal, which bounds them. */
  #telling: Promise<void> | undefined;
  /** The stored witness proves the stored position. */
  #isProven = true;
  readonly #backlog = new BacklogAge();

  constructor(ambient: Ambient, parts: SharedInformerParts<T>) {
    this.#work = new WakeSignal(ambient.clock);
    const log = ambient.log.child({ resource: parts.name });
    const { database, name, kind, deltasPerObject, decodedBytes } = parts;
    this.#ambient = { ...ambient, log };
    this.#parts = parts;
    this.#listeners = new Listeners(log);
    this.#indexer = new Indexer({ database, resource: name, indices: kind.indices, decodedBytes });
    this.#fifo = new DeltaFIFO({
      database,
      resource: name,
      indexer: this.#indexer,
      deltasPerObject,
      ...(kind.isQuiet && { quiet: kind.isQuiet }),
      ...(parts.history && { proof: (position: string) => this.#proofOf(position) }),
    });
    const { history } = parts;
    this.#trail = history && new Trail(history, this.#fifo.storedProof);
    this.#reflector = new Reflector(this.#ambient, {
      ...parts,
      resource: kind.resource,
      trim: kind.trim,
      proof: history && this.#trail && { history, trail: this.#trail },
      store: this.#intake(this.#fifo),
      stored: () => this.#work.ring(),
    });
  }

  get resource(): Resource<T> {
    return this.#parts.kind.resource;
  }

  get lister(): Lister<T> {
    return this.#indexer;
  }

  get hasSynced(): boolean {
    return this.#fifo.hasSynced;
  }

  get isCurrent(): boolean {
    return this.#reflector.isCurrent && this.#fifo.depth === 0;
  }

  get health(): WatchHealth {
    return this.#reflector.health;
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

  /** Stores newer knowledge that proves the position: without it, a power cut would cost a list. */
  settle(): void {
    const { resourceVersion } = this.#fifo;
    if (this.#isProven || resourceVersion === undefined || this.#trail?.proves(resourceVersion) !== true) return;
    this.#fifo.prove();
  }

  shed(): void {
    this.#indexer.decoded.clear();
  }

  stats(): InformerStats {
    const now = this.#ambient.clock.now();
    const { lastHeard, lastProof } = this.health;
    return {
      resource: this.#parts.name,
      synced: this.hasSynced,
      live: isLive(this.health, this.#parts.limits, now),
      heardAgo: age(lastHeard, now),
      provenAgo: age(lastProof, now),
      ...this.#reflector.stats,
      depth: this.#fifo.depth,
      behind: this.#backlog.at(now),
      merged: this.#fifo.merged,
      objects: this.#indexer.size,
      position: this.#fifo.resourceVersion,
    };
  }

  /** Stores the proof of a list with it. */
  #proving(list: Replacement<T>): Replacement<T> {
    const trail = this.#trail;
    if (trail === undefined) return list;
    return {
      page: (objects) => list.page(objects),
      bury: () => list.bury(),
      abort: () => list.abort(),
      commit: (resourceVersion) => {
        trail.listed(resourceVersion);
        try {
          list.commit(resourceVersion);
          this.#parts.history?.listed();
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
   * The store that the Reflector writes to. If the API must be asked whether objects are gone, everything goes through
   * the journal: later changes must not be reported during the wait.
   */
  #intake(fifo: DeltaFIFO<T>): ReflectorStore<T> {
    return {
      get resourceVersion() {
        return fifo.resourceVersion;
      },
      get depth() {
        return fifo.depth;
      },
      append: (deltas, resourceVersion) => {
        const waits = this.#parts.isGone !== undefined || this.#telling !== undefined;
        const changes = waits ? undefined : fifo.take(deltas, resourceVersion);
        if (changes) this.#tell(changes);
        else {
          fifo.append(deltas, resourceVersion);
          this.#backlog.added(fifo.depth, this.#ambient.clock.now());
        }
      },
      bookmark: (resourceVersion) => fifo.bookmark(resourceVersion),
      replace: () => this.#proving(fifo.fill() ?? fifo.replace()),
    };
  }

  /** The pump waits for the listeners to finish, and handles their errors. */
  #tell(notices: readonly Notice<T>[]): void {
    this.#telling = this.#listeners.tell(notices);
    if (this.#telling === undefined) return;
    this.#telling.catch(() => undefined);
    this.#work.ring();
  }

  async #told(): Promise<void> {
    try {
      await this.#telling;
    } finally {
      this.#telling = undefined;
    }
  }

  /** At the start, deltas may be pending that the last run received and did not handle. */
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
   * Reports every object again, at most twice a day. No controller depends on it: each reads everything when a term
   * begins and when an outage is over. It repairs unforeseen omissions.
   */
  async #resync(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    for (;;) {
      await sleep(clock, jitter(random, resyncPeriod, 1), signal);
      if (signal.aborted) return;
      if (this.#parts.isUrgent?.() !== false) await this.#tellAgain(signal);
    }
  }

  /** One batch at a time, so that little of it is ever pending on disk. */
  async #tellAgain(signal: AbortSignal): Promise<void> {
    let behind: Key | undefined = "";
    while (behind !== undefined && !signal.aborted) {
      if (this.#fifo.depth === 0) {
        behind = this.#fifo.resync(behind, batchSize);
        this.#work.ring();
      }
      await sleep(this.#ambient.clock, resyncPause, signal);
    }
  }

  /** Yields to the event loop between two batches, so that a burst does not delay a lease renewal. */
  async #drain(signal: AbortSignal): Promise<void> {
    const { isGone } = this.#parts;
    this.#backlog.added(this.#fifo.depth, this.#ambient.clock.now());
    if (this.#telling) await this.#told();
    while (this.#fifo.depth > 0 && !signal.aborted) {
      if (this.#listeners.isEmpty) this.#fifo.leaveUntold();
      // No await between the pop and the report, or deltas taken meanwhile would be reported first.
      const pending = this.#fifo.depth;
      const changes = this.#fifo.pop(batchSize);
      this.#backlog.handled(pending - this.#fifo.depth, this.#fifo.depth, this.#ambient.clock.now());
      const notices = isGone ? await judged(changes, isGone, signal) : changes;
      if (signal.aborted) return;
      this.#tell(notices);
      if (this.#telling) await this.#told();
      await nextTurn();
    }
  }
}

/** Separates deleted objects from released ones. */
function judged<T>(
  changes: readonly Change<T>[],
  isGone: (object: T, signal: AbortSignal) => Promise<boolean>,
  signal: AbortSignal,
): Promise<readonly Notice<T>[]> {
  return Promise.all(
    changes.map(async (change): Promise<Notice<T>> => {
      const { before, after } = change;
      if (before === undefined || after !== undefined || (await isGone(before, signal))) return change;
      return { ...change, released: true };
    }),
  );
}

const age = (since: Instant | undefined, now: Instant): Millis | undefined => since && elapsed(since, now);
