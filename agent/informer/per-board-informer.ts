import type { IndexFunctions } from "../../storage/object.ts";
import type { Node } from "../api/core.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { HandoverCache } from "./handover-cache.ts";
import type { Informer, Listen, Notice } from "./informer.ts";
import { type InformerStats, sumOf } from "./informer-stats.ts";
import { Listeners } from "./listeners.ts";
import type { Lister } from "./lister.ts";
import { UnionLister } from "./union-lister.ts";
import { type WatchHealth, worstOf } from "./watch-health.ts";

export interface PerBoardInformerParts<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly boards: Informer<Node>;
  /** Opens the informer of one board's objects. `boards`: number of boards that share the memory. */
  readonly open: (board: string, boards: number) => Informer<T>;
  /** The boards with stored objects, including those of earlier runs. */
  readonly stored: () => readonly string[];
  /**
   * Opens the watch of objects that are on no board yet, under the board name "". An object that it loses to a board
   * stays in `passing` until that board's watch has reported it.
   */
  readonly onNone?: ((passing: HandoverCache<T>) => Informer<T>) | undefined;
  readonly indices: IndexFunctions<T>;
  /** Deletes everything stored for a board. */
  readonly forget: (board: string) => void;
  /** Asks the API itself. Rejects if it does not answer. */
  readonly exists: (board: string, signal: AbortSignal) => Promise<boolean>;
}

interface Part<T extends KubeObject> {
  readonly informer: Informer<T>;
  /** Ends this board's watch, once it runs. */
  stop: () => Promise<void>;
  /** When the API was last asked whether the board still exists. */
  asked: Instant | undefined;
}

/** Board name for objects that are on no board. */
const none = "";
const askAgainAfter: Millis = 10_000;
const syncLook: Millis = 25;
const batchSize = 64;

/**
 * One resource, watched board by board for a site that is not the whole cluster. Each board has its own watch, stored
 * position and queue, so the changes of two boards cannot overtake each other in one cache.
 *
 * A board that left the selection takes its objects along: they are reported as released and dropped. A board that was
 * deleted is watched until it has no objects left, since cleaning them up is still this site's task. The API is asked
 * which of the two happened; while it does not answer, the board stays.
 */
export class PerBoardInformer<T extends KubeObject> implements Informer<T> {
  readonly #ambient: Ambient;
  readonly #parts: PerBoardInformerParts<T>;
  readonly #byBoard = new Map<string, Part<T>>();
  readonly #listeners: Listeners<T>;
  readonly #changed: WakeSignal;
  readonly #passing: HandoverCache<T>;
  readonly lister: Lister<T>;
  #hasSynced = false;

  constructor(ambient: Ambient, parts: PerBoardInformerParts<T>) {
    this.#changed = new WakeSignal(ambient.clock);
    const log = ambient.log.child({ resource: resourceName(parts.resource) });
    this.#ambient = { ...ambient, log };
    this.#parts = parts;
    this.#listeners = new Listeners(log);
    this.#passing = new HandoverCache(ambient, parts);
    this.lister = new UnionLister(() => [...this.#informers().map(({ lister }) => lister), this.#passing]);
  }

  get resource(): Resource<T> {
    return this.#parts.resource;
  }

  /** Stays true when boards join later. */
  get hasSynced(): boolean {
    const { boards } = this.#parts;
    const isComplete = (): boolean =>
      boards.hasSynced &&
      (this.#parts.onNone === undefined || this.#isSynced(none)) &&
      [...boards.lister.list()].every(({ metadata }) => this.#isSynced(metadata.name));
    this.#hasSynced ||= isComplete();
    return this.#hasSynced;
  }

  get isCurrent(): boolean {
    return this.#parts.boards.isCurrent && this.#informers().every(({ isCurrent }) => isCurrent);
  }

  /** The worst of all watches, including that of the boards. */
  get health(): WatchHealth {
    return worstOf([this.#parts.boards.health, ...this.#informers().map(({ health }) => health)]);
  }

  onChange(listen: Listen<T>): () => void {
    return this.#listeners.add(listen);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { boards } = this.#parts;
    const tasks = new TaskGroup(signal);
    const deafen = boards.onChange(() => this.#changed.ring());
    for (const part of this.#byBoard.values()) this.#start(part, tasks);
    tasks.start("boards", (inner) => this.#follow(tasks, inner));
    try {
      await tasks.join();
    } finally {
      deafen();
    }
  }

  pause(since: Instant): void {
    for (const informer of this.#informers()) informer.pause(since);
  }

  flush(): void {
    for (const informer of this.#informers()) informer.flush();
  }

  settle(): void {
    for (const informer of this.#informers()) informer.settle();
  }

  shed(): void {
    for (const informer of this.#informers()) informer.shed();
  }

  stats(): InformerStats {
    const stats = this.#informers().map((informer) => informer.stats());
    return sumOf(resourceName(this.resource), this.#parts.boards.stats(), stats, this.hasSynced);
  }

  async #follow(tasks: TaskGroup, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { boards, stored, onNone } = this.#parts;
    while (!boards.hasSynced && !signal.aborted) await sleep(clock, syncLook, signal);
    // Includes boards that have left meanwhile; the loop below settles them.
    for (const board of stored()) if (board !== none && !this.#byBoard.has(board)) this.#open(board, tasks);
    if (onNone && !this.#byBoard.has(none)) this.#add(none, onNone(this.#passing), tasks);
    while (!signal.aborted) {
      for (const { metadata } of boards.lister.list()) {
        if (!this.#byBoard.has(metadata.name)) this.#open(metadata.name, tasks);
      }
      const left = [...this.#byBoard.keys()].filter(
        (board) => board !== none && boards.lister.get(board) === undefined,
      );
      for (const board of left) await this.#settle(board, signal);
      const again = left.length > 0 ? clock.after(askAgainAfter, () => this.#changed.ring()) : undefined;
      await this.#changed.wait(signal);
      again?.cancel();
    }
  }

  #open(board: string, tasks: TaskGroup): void {
    this.#add(board, this.#parts.open(board, this.#parts.boards.lister.size), tasks);
  }

  #add(board: string, informer: Informer<T>, tasks: TaskGroup): void {
    const part: Part<T> = { informer, stop: async () => {}, asked: undefined };
    informer.onChange((changes) => {
      if (board !== none) for (const { key } of changes) this.#passing.remove(key);
      // An object bound to a board is reported by that board's watch; until then it must not count as gone.
      if (part.asked) this.#changed.ring();
      return this.#listeners.tell(board === none ? changes.filter(({ released }) => !released) : changes);
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

  /** Decides what to do with a board that is no longer in the selection. */
  async #settle(board: string, signal: AbortSignal): Promise<void> {
    const part = this.#byBoard.get(board);
    const now = this.#ambient.clock.now();
    if (!part || (part.asked && elapsed(part.asked, now) < askAgainAfter && part.informer.lister.size > 0)) return;
    part.asked = now;
    try {
      const isReleased = await this.#parts.exists(board, signal);
      if (signal.aborted || this.#parts.boards.lister.get(board) !== undefined) return;
      if (isReleased || (part.informer.hasSynced && part.informer.lister.size === 0)) await this.#drop(board, part);
    } catch (error) {
      this.#ambient.log.debug("what became of a board is not known yet", { board, error });
    }
  }

  async #drop(board: string, part: Part<T>): Promise<void> {
    await part.stop();
    this.#byBoard.delete(board);
    let batch: Notice<T>[] = [];
    for (const object of part.informer.lister.list()) {
      batch.push({ key: keyOf(object), before: object, after: undefined, released: true });
      if (batch.length < batchSize) continue;
      await this.#listeners.tell(batch);
      batch = [];
    }
    await this.#listeners.tell(batch);
    this.#parts.forget(board);
    this.#ambient.log.info("a board left the site", { board });
  }

  #isSynced(board: string): boolean {
    return this.#byBoard.get(board)?.informer.hasSynced ?? false;
  }

  #informers(): readonly Informer<T>[] {
    return [...this.#byBoard.values()].map(({ informer }) => informer);
  }
}
