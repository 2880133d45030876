import type { Delta, Key } from "../../../storage/object.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { leases, nodes, type Resource, resourceName } from "../../api/resources.ts";
import type { Ambient } from "../../base/ambient.ts";
import { type Instant, type Millis, nextTurn, sleep } from "../../base/clock.ts";
import { dispositionOf, sentenceOf } from "../../base/errors.ts";
import { isOfLink } from "../../client/api-error.ts";
import type { Unusable } from "../../client/decoding/list-intake.ts";
import type { WatchOptions } from "../../client/kube-client.ts";
import type { WatchEvent } from "../../client/watch-stream.ts";
import type { CacheRoom } from "../cache-room.ts";
import type { ReflectorClient } from "../informer-client.ts";
import type { ListTurns } from "../list-turns.ts";
import type { Selection } from "../scope.ts";
import type { WatchHealth, WatchLimits } from "../watch-health.ts";
import { DeltaGroup, type DeltaSink, deltaTypes } from "./delta-group.ts";
import { FreshnessCheck } from "./freshness-check.ts";
import { LeftOutObjects } from "./left-out-objects.ts";
import { OpenWatch } from "./open-watch.ts";
import { checkPosition, hasReached } from "./position-checks.ts";
import { PositionState } from "./position-state.ts";
import type { ReconnectScheduler } from "./reconnect-scheduler.ts";
import { type Rejected, type RejectionStore, Rejections } from "./rejections.ts";
import { type ReplaceableStore, replaceByPages } from "./replace-by-pages.ts";
import { reporting } from "./reporting-client.ts";
import { nextWait, pauseAfter, type RetryPace, spreadOut } from "./retry-pace.ts";
import { guardAgainstStall, StalledError } from "./stall-guard.ts";
import { hintFor, isUnavailable, problemOf, ShortWatchError, UnreadableError } from "./watch-errors.ts";
import { type DeliveredUpTo, WatchHealthTracker } from "./watch-health-tracker.ts";
import { type PositionProof, WatchResumption } from "./watch-resumption.ts";

/** The part of a DeltaFIFO that a Reflector uses. */
export interface ReflectorStore<T> extends DeltaSink<T>, ReplaceableStore<T> {
  /** The position at which the watch resumes; undefined if the store has never been filled. */
  readonly resourceVersion: string | undefined;
  /** Number of keys with pending deltas. */
  readonly depth: number;
  /** The newest state of an object, pending or stored. */
  newest(key: Key): T | undefined;
  /** The length of an object's newest state as JSON, in bytes; 0 if there is none. */
  bytes(key: Key): number;
}

export interface ReflectorDeps<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly client: ReflectorClient;
  readonly store: ReflectorStore<T>;
  /** Drops fields that no controller reads. Trimming a trimmed object changes nothing. */
  readonly trim: (object: T) => T;
  /** Keeps the unusable objects across restarts; without it, only those of this process are known. */
  readonly rejections?: RejectionStore | undefined;
  /**
   * The state to assume for an object whose newest state cannot be read. If absent, its last readable state is kept.
   */
  readonly unread?: ((known: T) => T) | undefined;
  /** False for objects that are not stored. Default: all are. */
  readonly admits?: ((object: T) => boolean) | undefined;
  /** Limits the objects that are stored; without it, all are. */
  readonly room?: CacheRoom | undefined;
  /** Objects per page of a list. */
  readonly pageSize: number;
  readonly limits: WatchLimits;
  readonly turns: ListTurns;
  /** Whether this board acts on the cache (default: true). If not, its watches may reconnect later. */
  readonly isUrgent?: (() => boolean) | undefined;
  /** Proves the stored position; without it, the position is trusted. */
  readonly proof?: PositionProof | undefined;
  /** Schedules when the streams reconnect to a lost server; without it, each follows its own backoff. */
  readonly reconnects?: ReconnectScheduler | undefined;
  /** Shows how late the watch is by the versions of its events; without it, every event counts as just made. */
  readonly deliveredUpTo?: DeliveredUpTo | undefined;
  /** Called when the store has new deltas. */
  readonly stored: () => void;
}

/** The state of the watch, for the status. */
export interface ReflectorStats {
  /** Number of lists begun. */
  readonly lists: number;
  /** Number of watches opened. */
  readonly watches: number;
  readonly rejected: Rejected;
  /**
   * Why the last attempt failed, with a hint; undefined as soon as a list or watch works. The problem of an event that
   * did not arrive completely remains until the position moves.
   */
  readonly problem: string | undefined;
}

/** The resources on whose watches judgement is based. */
const judged: readonly string[] = [nodes, leases].map(resourceName);
/** While more keys are pending, the stream is not read; a burst waits in the socket buffers, then on the server. */
const maxPending = 1024;
/** How long to wait before the number of pending keys is checked again. */
const pendingPause: Millis = 50;
/** A watch that ends sooner without an event counts as failed, or it would be reopened in a busy loop. */
const minWatchDuration: Millis = 1000;
/**
 * Applies instead of `minWatchDuration` until the cache is current, because a watch may then be requested for only one
 * second (see FreshnessCheck).
 */
const minCatchUpDuration: Millis = 900;

/**
 * Mirrors a selection of one resource into a store: lists, then watches, and so on, as client-go's Reflector does.
 * Three things differ, for slow and metered links:
 * 1. If the store has a position, there is no first list: the watch resumes there.
 * 2. A failed watch leads to a list only if the server refuses the position (410, 400, 422), if its history is not
 *    proven, or if it sends the same unreadable event twice. client-go lists again after any unknown error; but a
 *    server that still has the history sends the missed events.
 * 3. A silent watch is closed: bookmarks arrive about once a minute, or once the server has been asked for one.
 *
 * Invariant: the store's position is the only one. Deltas and position are written together, so after any failure the
 * next watch begins exactly after the stored state, or earlier and with a comparison (see WatchResumption).
 */
export class Reflector<T extends KubeObject> {
  readonly #ambient: Ambient;
  readonly #deps: ReflectorDeps<T>;
  readonly #rejections: Rejections;
  readonly #leftOut: LeftOutObjects;
  readonly #health: WatchHealthTracker;
  /** The open watch, or the last one; undefined before the first. */
  #lastWatch: OpenWatch<T> | undefined;
  /**
   * The backoffs for a lost connection and for a refused position. A server that refuses the position has responded, so
   * the list that follows does not wait for the connection's backoff.
   */
  readonly #paces: Partial<Record<"connection" | "history", RetryPace>> = {};
  readonly #position = new PositionState();
  readonly #freshness = new FreshnessCheck();
  readonly #resumption: WatchResumption;
  #lists = 0;
  #watches = 0;
  /** See ReflectorStats. */
  #problem: string | undefined;
  /** The last logged problem; undefined after an event. A repeated problem is logged as a warning only once. */
  #logged: string | undefined;

  constructor(ambient: Ambient, deps: ReflectorDeps<T>) {
    this.#ambient = ambient;
    this.#health = new WatchHealthTracker(ambient.clock, deps.limits, deps.deliveredUpTo);
    const client = reporting(deps.client, this.#health, (...refusal) => this.#report(...refusal));
    this.#deps = { ...deps, client };
    this.#rejections = new Rejections(deps.rejections);
    const { resource, room, store } = deps;
    const stored = { bytes: (key: Key) => store.bytes(key), known: this.#rejections.objects };
    this.#leftOut = new LeftOutObjects({ resource, room, ...stored });
    this.#resumption = new WatchResumption(deps.proof);
  }

  get health(): WatchHealth {
    return this.#health.health(this.#lastWatch?.group.isEmpty !== false && this.#deps.store.depth === 0);
  }

  /** True once the store includes everything that happened before the current run. */
  get isCurrent(): boolean {
    return this.#freshness.isDone && !this.#resumption.isReplaying;
  }

  get stats(): ReflectorStats {
    return {
      lists: this.#lists,
      watches: this.#watches,
      rejected: this.#rejections.seen,
      problem: this.#problem ?? this.#position.problemAt(this.#deps.store.resourceVersion),
    };
  }

  /** Called between two runs: the last run was ended deliberately at this instant. */
  pause(since: Instant): void {
    this.#health.paused(since);
  }

  /** Ends when the signal aborts; throws if the cache must be rebuilt or an operator must act. */
  async run(signal: AbortSignal): Promise<void> {
    const { store } = this.#deps;
    this.#freshness.begin();
    this.#resumption.broke(store.resourceVersion, undefined);
    while (!signal.aborted) {
      try {
        if (this.#position.is === "doubted") {
          await checkPosition(this.#deps, store.resourceVersion, signal);
          this.#position.known();
        }
        if (this.#position.is === "usable" && !(await this.#resumption.prove(store.resourceVersion, signal))) {
          this.#position.discard();
        }
        const mustList = this.#position.is !== "usable" || store.resourceVersion === undefined;
        if (mustList || this.#leftOut.haveRoomAgain) await this.#list(signal);
        await this.#watch(signal);
        // After a suspension of this process, the stream that just ended may date from before a restore of the server.
        this.#resumption.interrupted(store.resourceVersion);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal);
      }
    }
  }

  /**
   * Reacts to a failure: decides whether the position is still usable, reports the failure, and waits for the next
   * attempt.
   */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    // Also called after a failed list, because no watch begins without a list.
    this.#health.closed();
    const disposition = dispositionOf(error);
    if (disposition === "rebuild" || disposition === "exit") throw error;
    const { resourceVersion: position } = this.#deps.store;
    this.#resumption.broke(position, error);
    this.#position.failed(error, { position, events: this.#lastWatch?.events ?? 0 });
    const wait = this.#backoff(error);
    this.#report(error, wait);
    await this.#waitToRetry(error, wait, signal);
  }

  #backoff(error: unknown): Millis {
    const { clock, random } = this.#ambient;
    const kind = dispositionOf(error) === "relist" ? "history" : "connection";
    const [wait, pace] = nextWait(this.#paces[kind], clock.now(), random);
    this.#paces[kind] = pace;
    return wait;
  }

  /** Logs a failure, and shows it in the status unless it is routine. */
  #report(error: unknown, wait: Millis, what = "watch interrupted"): void {
    const isRelist = dispositionOf(error) === "relist";
    const hint = hintFor(error);
    const problem = problemOf(error);
    // Failures of the link are reported elsewhere, once for all watches.
    const isNew = problem !== this.#logged && !isRelist && !isOfLink(error);
    const level = isNew ? (hint === undefined ? "warn" : "error") : "debug";
    this.#ambient.log[level](what, { error, hint, wait: Math.round(wait) });
    // An expired position or a silent connection is routine, because the next attempt repairs it.
    const isRoutine = hint === undefined && (isRelist || error instanceof StalledError);
    if (!isRoutine || this.#logged !== undefined) this.#problem = problem;
    this.#logged = problem;
  }

  /** Waits for the backoff, for as long as the server requests and, after a lost connection, for this board's turn. */
  async #waitToRetry(error: unknown, wait: Millis, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    const { reconnects, isUrgent } = this.#deps;
    const turn = isOfLink(error) ? reconnects?.lost(wait) : undefined;
    const least = turn === undefined && isUrgent?.() === false ? spreadOut(wait, random) : wait;
    await sleep(clock, Math.max(least, pauseAfter(error)), signal);
    if (turn !== undefined) await reconnects?.until(turn, signal);
  }

  /**
   * Lists a state no older than the stored position or, if the server cannot do that, the newest. Never at "0", as
   * client-go does first, because the server would ignore the limit and send everything in one response.
   */
  async #list(signal: AbortSignal): Promise<void> {
    await this.#deps.turns.take(async () => {
      const notOlderThan = this.#position.is === "useless" ? "" : (this.#deps.store.resourceVersion ?? "");
      try {
        await this.#listFrom(notOlderThan, signal);
      } catch (error) {
        if (notOlderThan === "" || !isUnavailable(error)) throw error;
        this.#position.discard();
        await this.#listFrom("", signal);
      }
      this.#position.replaced();
      this.#resumption.listed();
      this.#freshness.done();
      this.#problem = undefined;
    }, signal);
    signal.throwIfAborted();
  }

  /** If the snapshot expires between two pages, the list is repeated in one page. */
  async #listFrom(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { resource, selection, client, store, stored, pageSize } = this.#deps;
    const unusable = new Map<Key, string>();
    const listing = {
      resource,
      selection,
      client,
      store,
      accepted: (object: T, put: () => void) => {
        const trimmed = this.#trimmed(object);
        if (typeof trimmed === "object" && !this.#admits(trimmed)) return undefined;
        const usable = typeof trimmed === "string" ? trimmed : (this.#leftOut.refusal(trimmed, put) ?? trimmed);
        if (typeof usable === "object") return usable;
        unusable.set(keyOf(object), usable);
        return this.#unread(object);
      },
      unread: ({ identity, why }: Unusable<KubeObject>) => {
        unusable.set(keyOf(identity), why);
        return this.#unread(identity);
      },
      rejected: (why: readonly string[], count: number) => this.#rejections.add(why, count),
    };
    for (const limit of [pageSize, undefined]) {
      this.#lists++;
      unusable.clear();
      this.#leftOut.clear();
      if (await replaceByPages(this.#ambient.clock, listing, { resourceVersion, limit }, signal)) break;
    }
    this.#rejections.listed(unusable);
    stored();
  }

  /** One watch. Returns when the server ended it, as it does every few minutes; throws if it failed. */
  async #watch(signal: AbortSignal): Promise<void> {
    const watch = this.#newWatch(signal);
    const { what, guard, group } = watch;
    const shortest = this.isCurrent ? minWatchDuration : minCatchUpDuration;
    const release = this.#resumption.whileOpen(what, guard.abort);
    this.#lastWatch = watch;
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.#follow(watch);
      guard.signal.throwIfAborted();
    } catch (error) {
      failure = { error: guard.signal.aborted ? guard.signal.reason : error };
    }
    // The order matters: nothing may end the watch again while its last events are stored, and the reason for its end
    // is checked last.
    guard.dispose();
    release();
    this.#health.closed();
    group.flush();
    if (signal.aborted) throw signal.reason;
    this.#resumption.ended(watch.age, what);
    if (failure) throw failure.error;
    if (watch.events === 0 && watch.age < shortest) {
      throw new ShortWatchError(`${what}: ended immediately, without an event`);
    }
    this.#freshness.ended(this.#resumption.isReplaying ? 0 : watch.silentFor);
  }

  #newWatch(parent: AbortSignal): OpenWatch<T> {
    const { resource, store, stored, limits } = this.#deps;
    const { clock } = this.#ambient;
    const what = `watch ${resourceName(resource)}`;
    const ask = (asking: AbortSignal): Promise<boolean> => this.#mayRest(asking);
    const guard = guardAgainstStall(clock, { limit: limits.stall, parent, what, ask });
    return new OpenWatch(clock, { what, guard, group: new DeltaGroup(clock, { store, stored, failed: guard.abort }) });
  }

  /** Opens the watch and receives its events until it ends. */
  async #follow(watch: OpenWatch<T>): Promise<void> {
    const { resource, selection, client, store } = this.#deps;
    const { what, guard, group } = watch;
    const resourceVersion = this.#resumption.from ?? store.resourceVersion;
    const options: WatchOptions = {
      ...selection,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      timeoutSeconds:
        this.#freshness.seconds ?? this.#leftOut.watchSeconds ?? Math.floor(300 + 300 * this.#ambient.random.next()),
      arrived: guard.arrived,
    };
    const stream = await client.watch(resource, options, guard.signal);
    this.#watches++;
    this.#problem = undefined;
    watch.opened();
    if (!this.#resumption.isReplaying) this.#caughtUp();
    for await (const event of stream) {
      watch.heard(event);
      const received = this.#resumption.classify(event, what);
      if (received === "replay complete") this.#caughtUp();
      if (received === "new") this.#receive(event, group);
      if (group.isFull) await this.#write(watch);
      // Checked about once a minute. If there is room, the next watch begins with a list.
      if (event.type === "BOOKMARK" && watch.age >= minWatchDuration && this.#leftOut.haveRoomAgain) return;
    }
  }

  /**
   * Whether a watch that has been silent since it was opened may belong to an idle resource. Not checked for heartbeats
   * and Nodes, because judgement treats a silence of their watches as an outage, regardless of other requests.
   */
  async #mayRest(signal: AbortSignal): Promise<boolean> {
    if (this.#resumption.isReplaying || judged.includes(resourceName(this.#deps.resource))) return false;
    if (!(await hasReached(this.#deps, this.#deps.store.resourceVersion, signal))) return false;
    this.#health.answered();
    return true;
  }

  #caughtUp(): void {
    this.#resumption.caughtUp();
    this.#health.opened();
  }

  #receive(event: WatchEvent<T>, group: DeltaGroup<T>): void {
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED": {
        this.#logged = undefined;
        this.#health.event(event.object.metadata.resourceVersion);
        const { resourceVersion } = event.object.metadata;
        const trimmed = this.#trimmed(
          event.type === "DELETED" && event.isBare ? this.#gone(event.object, group) : event.object,
        );
        if (typeof trimmed === "string" && event.type !== "DELETED") {
          this.#rejections.reject(keyOf(event.object), trimmed);
          group.add(this.#missed(event.object, group), resourceVersion);
          return;
        }
        const object = typeof trimmed === "string" ? this.#gone(event.object, group) : trimmed;
        // An object that is no longer admitted may still be stored, so it is reported as deleted; the store ignores deletions
        // of unknown objects.
        const type = typeof trimmed === "object" && this.#admits(object) ? deltaTypes[event.type] : "Deleted";
        if (type !== "Deleted" && this.#isLeftOut(object, group)) {
          group.add(this.#missed(object, group), resourceVersion);
          return;
        }
        this.#rejections.accept(keyOf(event.object));
        this.#leftOut.delete(keyOf(event.object));
        group.add({ type, object }, resourceVersion);
        return;
      }
      case "BOOKMARK":
        group.flush();
        this.#logged = undefined;
        this.#health.bookmark(event.resourceVersion, event.resourceVersion !== this.#deps.store.resourceVersion);
        this.#deps.store.bookmark(event.resourceVersion);
        this.#freshness.done();
        return;
      case "REJECTED":
        this.#health.rejected();
        if (event.identity === undefined) this.#rejections.add([event.why]);
        else this.#rejections.reject(keyOf(event.identity), event.why);
        if (event.resourceVersion !== undefined) group.add(this.#missed(event.identity, group), event.resourceVersion);
        return;
      case "UNREADABLE":
        // The watch is reopened at the stored position, so that no object is missed.
        throw new UnreadableError(`watch ${resourceName(this.#deps.resource)}: ${event.why}`);
      case "ERROR":
        throw event.error;
      default:
        event satisfies never;
    }
  }

  /** Completes a deleted object, of which only the identity was read, with the rest of its last known state. */
  #gone(identity: T, group: DeltaGroup<T>): T {
    group.flush();
    const known = this.#deps.store.newest(keyOf(identity));
    const { uid, resourceVersion } = identity.metadata;
    return known?.metadata.uid === uid ? { ...known, metadata: { ...known.metadata, resourceVersion } } : identity;
  }

  /** The delta of an object whose newest state cannot be used; undefined if the stored object remains unchanged. */
  #missed(identity: T | undefined, group: DeltaGroup<T>): Delta<T> | undefined {
    if (identity === undefined) return undefined;
    group.flush();
    const known = this.#deps.store.newest(keyOf(identity));
    // The stored object has the same name but another uid, so it must have been deleted.
    if (known !== undefined && known.metadata.uid !== identity.metadata.uid) return { type: "Deleted", object: known };
    const object = this.#unread(identity);
    return object && object !== known ? { type: "Updated", object } : undefined;
  }

  /** The state to keep of an object whose newest state cannot be used; undefined if the object is not stored. */
  #unread(identity: KubeObject): T | undefined {
    const { store, unread } = this.#deps;
    const { uid, resourceVersion } = identity.metadata;
    const known = store.newest(keyOf(identity));
    if (known?.metadata.uid !== uid) return undefined;
    if (unread === undefined) return known;
    const object = unread(known);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }

  /** Writes a full group, then waits while too many deltas are pending. */
  async #write({ group, guard }: OpenWatch<T>): Promise<void> {
    group.flush();
    await nextTurn();
    while (this.#deps.store.depth > maxPending && !guard.signal.aborted) {
      await sleep(this.#ambient.clock, pendingPause, guard.signal);
      guard.touch();
    }
  }

  /** Whether the cache has no room for this state. If so, the reason is kept. */
  #isLeftOut(object: T, group: DeltaGroup<T>): boolean {
    const why = this.#leftOut.refusal(object, () => group.flush());
    if (why !== undefined) this.#rejections.reject(keyOf(object), why);
    return why !== undefined;
  }

  /** The object in the form in which it is stored, or why it cannot be trimmed. */
  #trimmed(object: T): T | string {
    try {
      return this.#deps.trim(object);
    } catch (error) {
      return `${keyOf(object)}: ${sentenceOf(error)}`;
    }
  }

  #admits(object: T): boolean {
    return this.#deps.admits?.(object) ?? true;
  }
}
