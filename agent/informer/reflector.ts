import type { DeltaType } from "../../storage/object.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, nextTurn, sleep } from "../base/clock.ts";
import { dispositionOf, sentenceOf } from "../base/errors.ts";
import { isOfLink } from "../client/api-error.ts";
import type { WatchOptions } from "../client/kube-client.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import { DeltaGroup } from "./delta-group.ts";
import { FreshnessCheck } from "./freshness-check.ts";
import { castsDoubt, isMeaningless, isUnavailable } from "./position-errors.ts";
import type { ReflectorParts, ReflectorStats } from "./reflector-parts.ts";
import { Rejections } from "./rejections.ts";
import { replaceByPages } from "./replace-by-pages.ts";
import { calmly, nextWait, type RetryPace } from "./retry-pace.ts";
import { guardAgainstStall, StalledError, type StallGuard } from "./stall-guard.ts";
import { hintFor, isUsable, OtherHistoryError, pauseAfter, ShortWatchError, UnreadableError } from "./watch-errors.ts";
import type { WatchHealth } from "./watch-health.ts";
import { WatchHealthTracker } from "./watch-health-tracker.ts";
import { WatchResumption } from "./watch-resumption.ts";

/** The stream is not read while this many deltas are pending: a burst waits in the socket, then at the server. */
const mostPending = 1024;
const pendingPause = 50;
/**
 * In milliseconds. A watch without events that ends sooner would cause a busy loop; less for one limited to a second.
 */
const [shortestWatch, shortestCatchUp] = [1000, 900];

const deltaTypes = { ADDED: "Added", MODIFIED: "Updated", DELETED: "Deleted" } as const satisfies Record<
  string,
  DeltaType
>;

/**
 * Mirrors a selection of one resource into a store: lists by pages, then watches, then again, as client-go's reflector
 * does, with three differences for thin links.
 *
 * If the store has a position, there is no first list: the watch resumes there. A watch that ends never leads to a
 * list, except after 410: client-go lists again after any unknown error, which costs a metered link the whole
 * collection for each broken connection and gains nothing, since a server that still has the history sends the missed
 * events. And a silent watch is torn down (bookmarks come about once a minute).
 *
 * The store's position is the only one kept: deltas and position are written together, so after any failure the next
 * watch begins exactly after the stored state, or earlier and compares: see the WatchResumption.
 */
export class Reflector<T extends KubeObject> {
  readonly #ambient: Ambient;
  readonly #parts: ReflectorParts<T>;
  readonly #rejections = new Rejections();
  readonly #hearing: WatchHealthTracker;
  /** Received events that are not stored yet. */
  #group: DeltaGroup<T> | undefined;
  /** A server that is back without the history has answered, so its list does not share the connection's backoff. */
  readonly #paces: Partial<Record<"connection" | "history", RetryPace>> = {};
  /** The server no longer has the history after our position. */
  #expired = false;
  readonly #catchUp = new FreshnessCheck();
  /** The server could not list at our position either: list the newest state. */
  #unavailable = false;
  /** The last watch failed in a way that a meaningless position may cause. */
  #isDoubted = false;
  readonly #resumption: WatchResumption;
  #lists = 0;
  #watches = 0;
  /** Number of usable events of the last watch. */
  #events = 0;
  /** The position after which an unreadable event came. */
  #unreadableAt: string | undefined;
  #problem: string | undefined;
  /** The problem last logged; logged again only after an event arrived. */
  #said: string | undefined;

  constructor(ambient: Ambient, parts: ReflectorParts<T>) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#hearing = new WatchHealthTracker(ambient.clock, parts.limits);
    this.#resumption = new WatchResumption(parts.proof);
  }

  get health(): WatchHealth {
    return this.#hearing.health(this.#group?.isEmpty !== false && this.#parts.store.depth === 0);
  }

  /** The store is no older than the current run. */
  get isCurrent(): boolean {
    return this.#catchUp.isDone && !this.#resumption.isReplaying;
  }

  get stats(): ReflectorStats {
    return {
      lists: this.#lists,
      watches: this.#watches,
      rejected: this.#rejections.seen,
      problem: this.#problem,
    };
  }

  /** Between two runs, when the last one was ended on purpose. */
  pause(since: Instant): void {
    this.#hearing.paused(since);
  }

  /** Ends when the signal aborts; throws if the cache has to be rebuilt or an operator must act. */
  async run(signal: AbortSignal): Promise<void> {
    const { store } = this.#parts;
    this.#catchUp.begin();
    this.#resumption.broke(store.resourceVersion, undefined);
    while (!signal.aborted) {
      try {
        if (this.#isDoubted && !this.#expired) await this.#ask(signal);
        if (!this.#expired && !(await this.#resumption.prove(store.resourceVersion, signal)))
          this.#expired = this.#unavailable = true;
        if (this.#expired || store.resourceVersion === undefined) await this.#list(signal);
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, signal);
      }
    }
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    const disposition = dispositionOf(error);
    if (disposition === "rebuild" || disposition === "exit") throw error;
    this.#resumption.broke(this.#parts.store.resourceVersion, error);
    if (disposition === "relist") this.#expired = true;
    if (error instanceof OtherHistoryError) this.#unavailable = true;
    if (isMeaningless(error)) this.#expired = this.#unavailable = true;
    if (error instanceof UnreadableError) this.#lost();
    this.#isDoubted ||= error instanceof ShortWatchError || castsDoubt(error, this.#events);
    const kind = disposition === "relist" ? "history" : "connection";
    const [wait, pace] = nextWait(this.#paces[kind], clock.now(), random);
    this.#paces[kind] = pace;
    const hint = hintFor(error);
    const problem = hint === undefined ? sentenceOf(error) : `${sentenceOf(error)}. ${hint}`;
    // The link's own watcher reports link failures, once for all users.
    const isNew = problem !== this.#said && disposition !== "relist" && !isOfLink(error);
    const level = isNew ? (hint === undefined ? "warn" : "error") : "debug";
    log[level]("watch interrupted", { error, hint, wait: Math.round(wait) });
    // An expired position or a silent connection is routine: the next attempt repairs it.
    const isRoutine = hint === undefined && (disposition === "relist" || error instanceof StalledError);
    if (!isRoutine || this.#said !== undefined) this.#problem = problem;
    this.#said = problem;
    const { comeback, isUrgent } = this.#parts;
    const back = isOfLink(error) ? comeback?.lost(wait) : undefined;
    const least = back === undefined && isUrgent?.() === false ? calmly(wait, random) : wait;
    await sleep(clock, Math.max(least, pauseAfter(error)), signal);
    if (back !== undefined) await comeback?.until(back, signal);
  }

  /**
   * After an unreadable event the watch resumes at our position, and an event that was truncated by chance arrives
   * intact. If it is unreadable again, a list replaces it.
   */
  #lost(): void {
    const { resourceVersion } = this.#parts.store;
    if (this.#unreadableAt === resourceVersion) this.#expired = true;
    this.#unreadableAt = resourceVersion;
  }

  /** Checks whether our position means anything to the server, with a list of one object: a few bytes. */
  async #ask(signal: AbortSignal): Promise<void> {
    const { resource, selection, client, store } = this.#parts;
    const at = { resourceVersion: store.resourceVersion, resourceVersionMatch: "NotOlderThan" } as const;
    await client.list(resource, { ...selection, ...at, limit: 1, metadataOnly: true }, () => {}, signal);
    this.#isDoubted = false;
  }

  /**
   * Lists a state not older than our position or, if the server cannot, the newest. Never "0", as client-go begins:
   * with it the server ignores the limit and sends everything in one piece.
   */
  async #list(signal: AbortSignal): Promise<void> {
    await this.#parts.turns.take(async () => {
      const last = this.#unavailable ? "" : (this.#parts.store.resourceVersion ?? "");
      try {
        await this.#listFrom(last, signal);
      } catch (error) {
        if (last === "" || !isUnavailable(error)) throw error;
        this.#unavailable = true;
        await this.#listFrom("", signal);
      }
      this.#expired = this.#unavailable = this.#isDoubted = false;
      this.#resumption.listed();
      this.#catchUp.done();
      this.#problem = undefined;
    }, signal);
    signal.throwIfAborted();
  }

  /** If the snapshot expired between two pages, the list is repeated in one piece, which cannot expire. */
  async #listFrom(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { resource, selection, client, store, stored, pageSize } = this.#parts;
    const listing = {
      resource,
      selection,
      client,
      store,
      accepted: (object: T) => {
        const trimmed = this.#trimmed(object);
        return trimmed && this.#admits(trimmed) ? trimmed : undefined;
      },
      rejected: (why: readonly string[], count: number) => this.#rejections.add(why, count),
    };
    for (const limit of [pageSize, undefined]) {
      this.#lists++;
      if (await replaceByPages(this.#ambient.clock, listing, { resourceVersion, limit }, signal)) break;
    }
    stored();
  }

  /** Returns when the server ended the watch, as it does every few minutes: the next one begins at once. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { resource, selection, client, store, stored, limits } = this.#parts;
    const { clock, random } = this.#ambient;
    const what = `watch ${resourceName(resource)}`;
    const began = clock.now();
    const guard = guardAgainstStall(clock, limits.stall, signal, what);
    const group = new DeltaGroup<T>(clock, { store, stored, failed: guard.abort });
    this.#group = group;
    const resourceVersion = this.#resumption.from ?? store.resourceVersion;
    const options: WatchOptions = {
      ...selection,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      timeoutSeconds: this.#catchUp.seconds ?? Math.floor(300 + 300 * random.next()),
    };
    const shortest = this.isCurrent ? shortestWatch : shortestCatchUp;
    let last = began;
    this.#events = 0;
    try {
      const stream = await client.watch(resource, options, guard.signal);
      this.#watches++;
      this.#problem = undefined;
      guard.heard();
      if (!this.#resumption.isReplaying) this.#flows();
      for await (const event of stream) {
        if (isUsable(event)) this.#events++;
        guard.heard();
        last = clock.now();
        const came = this.#resumption.take(event, what);
        if (came === "last") this.#flows();
        if (came === "new") this.#take(event, group);
        if (group.isFull) await this.#write(group, guard);
      }
      guard.signal.throwIfAborted();
    } catch (error) {
      if (!signal.aborted) this.#resumption.ended(began, clock.now(), what);
      throw guard.signal.aborted ? guard.signal.reason : error;
    } finally {
      guard.dispose();
      this.#hearing.closed();
      group.flush();
    }
    if (this.#events === 0 && elapsed(began, clock.now()) < shortest) {
      throw new ShortWatchError(`${what}: ended at once, without an event`);
    }
    this.#resumption.ended(began, clock.now(), what);
    this.#catchUp.ended(this.#resumption.isReplaying ? 0 : elapsed(last, clock.now()));
  }

  #flows(): void {
    this.#resumption.flows();
    this.#hearing.opened();
  }

  #take(event: WatchEvent<T>, group: DeltaGroup<T>): void {
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED": {
        this.#said = undefined;
        this.#hearing.event();
        const object = this.#trimmed(event.object);
        // An object no longer admitted may be stored, so it is deleted; the store ignores deletions of unknown objects.
        const type = object && this.#admits(object) ? deltaTypes[event.type] : "Deleted";
        group.add(object && { type, object }, event.object.metadata.resourceVersion);
        return;
      }
      case "BOOKMARK":
        group.flush();
        this.#said = undefined;
        this.#hearing.bookmark(event.resourceVersion !== this.#parts.store.resourceVersion);
        this.#parts.store.bookmark(event.resourceVersion);
        this.#catchUp.done();
        return;
      case "REJECTED":
        this.#hearing.noise();
        this.#rejections.add([event.why]);
        if (event.resourceVersion !== undefined) group.add(undefined, event.resourceVersion);
        return;
      case "UNREADABLE":
        this.#rejections.add([event.why]);
        throw new UnreadableError(`watch ${resourceName(this.#parts.resource)}: ${event.why}`);
      case "ERROR":
        throw event.error;
      default:
        event satisfies never;
    }
  }

  /** Writes a full group, and reads on only when enough of the pending deltas were handled. */
  async #write(group: DeltaGroup<T>, guard: StallGuard): Promise<void> {
    group.flush();
    await nextTurn();
    while (this.#parts.store.depth > mostPending && !guard.signal.aborted) {
      await sleep(this.#ambient.clock, pendingPause, guard.signal);
      guard.heard();
    }
  }

  /** The object as stored; undefined if it cannot be trimmed. */
  #trimmed(object: T): T | undefined {
    try {
      return this.#parts.trim(object);
    } catch (error) {
      this.#rejections.add([`${keyOf(object)}: ${sentenceOf(error)}`]);
      return undefined;
    }
  }

  #admits(object: T): boolean {
    return this.#parts.admits?.(object) ?? true;
  }
}
