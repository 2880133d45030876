import type { IndexFunctions } from "../../storage/object.ts";
import type { Node } from "../api/core.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { earliestOf } from "../api/resource-version.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { HandoverCache } from "./handover-cache.ts";
import type { Informer, InformerEvent, InformerPart, Listen } from "./informer.ts";
import { type InformerStats, sumOf } from "./informer-stats.ts";
import { Listeners } from "./listeners.ts";
import type { Lister } from "./lister.ts";
import { UnionLister } from "./union-lister.ts";
import { type WatchHealth, worstOf } from "./watch-health.ts";

export interface PerBoardInformerDeps<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly boards: Informer<Node>;
  /** Opens the informer of one board's objects. `boards`: the number of boards that share the memory budget. */
  readonly open: (board: string, boards: number) => Informer<T>;
  /** The boards with stored objects, including those of earlier runs. */
  readonly stored: () => readonly string[];
  /**
   * Opens the watch of objects that are not on any board yet. An object that is then bound to a board stays in
   * `handovers` until the watch of that board has reported it.
   */
  readonly onNone?: ((handovers: HandoverCache<T>) => Informer<T>) | undefined;
  readonly indices: IndexFunctions<T>;
  /** Deletes everything stored for a board. */
  readonly forget: (board: string) => void;
  /** Asks the API whether the board exists. Rejects if the API does not respond. */
  readonly exists: (board: string, signal: AbortSignal) => Promise<boolean>;
}

interface Part<T extends KubeObject> {
  readonly informer: Informer<T>;
  /** Ends this board's watch; does nothing if the watch has not started. */
  stop: () => Promise<void>;
  /** When the API was last asked about the board. */
  asked: Instant | undefined;
}

/** A placeholder for the board of objects that are not on any board. */
const none = "";
const askAgainAfter: Millis = 10_000;
const syncPollPeriod: Millis = 25;
const batchSize = 64;

/**
 * One resource, watched board by board for a site that is not the whole cluster. Each board has its own watch, stored
 * position and queue, so the changes of two boards cannot overtake each other in one cache.
 *
 * When a board leaves the selection, its objects are reported as released and dropped. A board that was deleted is
 * watched until it has no objects left, because this site still has to clean them up. A query to the API shows which of
 * the two has happened; until it responds, the board's objects are kept.
 */
export class PerBoardInformer<T extends KubeObject> implements Informer<T> {
  readonly #ambient: Ambient;
  readonly #deps: PerBoardInformerDeps<T>;
  readonly #byBoard = new Map<string, Part<T>>();
  readonly #listeners: Listeners<T>;
  readonly #changed: WakeSignal;
  readonly #handovers: HandoverCache<T>;
  readonly lister: Lister<T>;
  #hasSynced = false;

  constructor(ambient: Ambient, deps: PerBoardInformerDeps<T>) {
    this.#changed = new WakeSignal(ambient.clock);
    const log = ambient.log.child({ resource: resourceName(deps.resource) });
    this.#ambient = { ...ambient, log };
    this.#deps = deps;
    this.#listeners = new Listeners(log);
    this.#handovers = new HandoverCache(ambient, deps);
    this.lister = new UnionLister(() => [...this.#informers().map(({ lister }) => lister), this.#handovers]);
  }

  get resource(): Resource<T> {
    return this.#deps.resource;
  }

  /** True once every known board's objects are listed. Remains true if boards join later. */
  get hasSynced(): boolean {
    const { boards } = this.#deps;
    const isComplete = (): boolean =>
      boards.hasSynced &&
      (this.#deps.onNone === undefined || this.#isSynced(none)) &&
      [...boards.lister.list()].every(({ metadata }) => this.#isSynced(metadata.name));
    this.#hasSynced ||= isComplete();
    return this.#hasSynced;
  }

  get isCurrent(): boolean {
    return this.#deps.boards.isCurrent && this.#informers().every(({ isCurrent }) => isCurrent);
  }

  /** The health of the worst of all watches, including the one on the boards. */
  get health(): WatchHealth {
    return worstOf([this.#deps.boards.health, ...this.#informers().map(({ health }) => health)]);
  }

  /** The position of the watch that is furthest behind. */
  get position(): string | undefined {
    return earliestOf(this.#informers().map(({ position }) => position));
  }

  get parts(): readonly InformerPart[] {
    return [this.#deps.boards, ...this.#informers()];
  }

  onChange(listen: Listen<T>): () => void {
    return this.#listeners.add(listen);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { boards } = this.#deps;
    const tasks = new TaskGroup(signal);
    const stopListening = boards.onChange(() => this.#changed.ring());
    for (const part of this.#byBoard.values()) this.#start(part, tasks);
    tasks.start("boards", (inner) => this.#follow(tasks, inner));
    try {
      await tasks.join();
    } finally {
      stopListening();
    }
  }

  pause(since: Instant): void {
    for (const informer of this.#informers()) informer.pause(since);
  }

  flush(): void {
    for (const informer of this.#informers()) informer.flush();
  }

  storeProof(): void {
    for (const informer of this.#informers()) informer.storeProof();
  }

  shed(): void {
    for (const informer of this.#informers()) informer.shed();
  }

  stats(): InformerStats {
    const stats = this.#informers().map((informer) => informer.stats());
    return sumOf(resourceName(this.resource), this.#deps.boards.stats(), stats, this.hasSynced);
  }

  async #follow(tasks: TaskGroup, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { boards, stored, onNone } = this.#deps;
    while (!boards.hasSynced && !signal.aborted) await sleep(clock, syncPollPeriod, signal);
    // Some of the stored boards may have left the selection in the meantime; the loop below finds them.
    for (const board of stored()) if (board !== none && !this.#byBoard.has(board)) this.#open(board, tasks);
    if (onNone && !this.#byBoard.has(none)) this.#add(none, onNone(this.#handovers), tasks);
    while (!signal.aborted) {
      for (const { metadata } of boards.lister.list()) {
        if (!this.#byBoard.has(metadata.name)) this.#open(metadata.name, tasks);
      }
      const left = [...this.#byBoard.keys()].filter(
        (board) => board !== none && boards.lister.get(board) === undefined,
      );
      for (const board of left) await this.#checkDeparted(board, signal);
      const again = left.length > 0 ? clock.after(askAgainAfter, () => this.#changed.ring()) : undefined;
      await this.#changed.wait(signal);
      again?.cancel();
    }
  }

  #open(board: string, tasks: TaskGroup): void {
    this.#add(board, this.#deps.open(board, this.#deps.boards.lister.size), tasks);
  }

  #add(board: string, informer: Informer<T>, tasks: TaskGroup): void {
    const part: Part<T> = { informer, stop: async () => {}, asked: undefined };
    informer.onChange((changes) => {
      if (board !== none) for (const { key } of changes) this.#handovers.remove(key);
      if (part.asked) this.#changed.ring();
      // An object that left the watch of unbound objects was bound, so its new board's watch reports it.
      return this.#listeners.notify(board === none ? changes.filter(({ released }) => !released) : changes);
    });
    this.#byBoard.set(board, part);
    this.#start(part, tasks);
  }

  #start(part: Part<T>, tasks: TaskGroup): void {
    const controller = new AbortController();
    tasks.start("board", (signal) => {
      const ended = part.informer.run(AbortSignal.any([signal, controller.signal]));
      part.stop = () => {
        controller.abort();
        return ended;
      };
      return ended;
    });
  }

  /** Drops a board that is no longer in the selection, if it still exists or has no objects left. */
  async #checkDeparted(board: string, signal: AbortSignal): Promise<void> {
    const part = this.#byBoard.get(board);
    const now = this.#ambient.clock.now();
    if (!part || (part.asked && elapsed(part.asked, now) < askAgainAfter && part.informer.lister.size > 0)) return;
    part.asked = now;
    try {
      const isReleased = await this.#deps.exists(board, signal);
      if (signal.aborted || this.#deps.boards.lister.get(board) !== undefined) return;
      if (isReleased || (part.informer.hasSynced && part.informer.lister.size === 0)) await this.#drop(board, part);
    } catch (error) {
      this.#ambient.log.debug("cannot check whether a board was deleted", { board, error });
    }
  }

  async #drop(board: string, part: Part<T>): Promise<void> {
    await part.stop();
    this.#byBoard.delete(board);
    let batch: InformerEvent<T>[] = [];
    for (const object of part.informer.lister.list()) {
      batch.push({ key: keyOf(object), before: object, after: undefined, released: true });
      if (batch.length < batchSize) continue;
      await this.#listeners.notify(batch);
      batch = [];
    }
    await this.#listeners.notify(batch);
    this.#deps.forget(board);
    this.#ambient.log.info("a board left the site", { board });
  }

  #isSynced(board: string): boolean {
    return this.#byBoard.get(board)?.informer.hasSynced ?? false;
  }

  #informers(): readonly Informer<T>[] {
    return [...this.#byBoard.values()].map(({ informer }) => informer);
  }
}
