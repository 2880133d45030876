import { type KubeObject, keyOf } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import { kindOf } from "../informer/kinds/kinds.ts";
import type { Lister } from "../informer/lister.ts";
import type { WatchHealth } from "../informer/watch-health.ts";
import type { ObjectChange } from "../loop/controller.ts";
import type { Cache } from "../loop/site-view.ts";
import { type IndexValues, OverlaidLister } from "./overlaid-lister.ts";
import { isDeletion, leftOf, type Pretence, pretenceOf, type SignOfLife, shownAs } from "./pretence.ts";

type Listen<T> = (changes: readonly ObjectChange<T>[]) => unknown;

interface Entry {
  readonly pretence: Pretence;
  readonly isGone: boolean;
  readonly real: IndexValues;
  readonly shown: IndexValues;
}

/**
 * A cache with the writes of shadowed controllers applied: they see their own writes, as they would after a real one,
 * and do not decide again. At most `most` objects are overlaid; the client refuses what does not fit.
 */
export class OverlaidCache<T extends KubeObject> implements Cache<T> {
  readonly lister: Lister<T>;
  readonly #resource: Resource<T>;
  readonly #real: Cache<T>;
  /** Maximum number of overlaid objects. */
  readonly most: number;
  /** By key, the oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<Listen<T>>();

  constructor(resource: Resource<T>, real: Cache<T>, most: number) {
    this.#resource = resource;
    this.#real = real;
    this.most = most;
    this.lister = new OverlaidLister({
      real: real.lister,
      entries: this.#entries,
      shownAs: (object) => this.shown(object),
    });
  }

  get health(): WatchHealth {
    return this.#real.health;
  }

  get position(): string | undefined {
    return this.#real.position;
  }

  onChange(listen: Listen<T>): () => void {
    this.#listeners.add(listen);
    return () => this.#listeners.delete(listen);
  }

  /** Passes on the changes of the real cache, as they are shown, until the returned function is called. */
  follow(): () => void {
    return this.#real.onChange((changes) => this.#tell(changes.map((change) => this.#seen(change))));
  }

  /** The object as it really is in the cache. */
  real(key: string): T | undefined {
    return this.#real.lister.get(key);
  }

  /** An object in some real state, as it is shown; undefined if it would no longer exist. */
  shown(real: T): T | undefined {
    const entry = this.#entries.get(keyOf(real));
    return entry ? shownAs(entry.pretence, real) : real;
  }

  /** Whether the object is overlaid, or can be. */
  hasRoomFor(key: string): boolean {
    return this.#entries.has(key) || this.#entries.size < this.most;
  }

  /**
   * Makes room for the deletion of an object: if there is none, the oldest object that would not be deleted is shown as it
   * really is. A controller that deletes a pod would do so again if it were shown, but pods are marked only once.
   */
  async makeRoomFor(key: string): Promise<void> {
    if (this.hasRoomFor(key)) return;
    const [oldest] = [...this.#entries].find(([, { pretence }]) => !isDeletion(pretence)) ?? [];
    if (oldest !== undefined) await this.drop(oldest, () => undefined);
  }

  /** From now on shows `after` in place of a real object. Resolves once all listeners know. */
  async pretend(real: T, after: T | "gone", lives: SignOfLife): Promise<void> {
    await this.#replace(keyOf(real), real, pretenceOf(real, after, lives));
  }

  /** Reduces the pretence of an object. */
  async drop(key: string, left: (pretence: Pretence) => Pretence | undefined): Promise<void> {
    const entry = this.#entries.get(key);
    const real = this.real(key);
    const next = entry && left(entry.pretence);
    if (real === undefined || entry === undefined) return;
    const { changes, isGone } = entry.pretence;
    if (next?.changes === changes && next.isGone === isGone) this.#entries.set(key, { ...entry, pretence: next });
    else await this.#replace(key, real, next);
  }

  /** The objects with a pretence, by key. */
  pretended(): ReadonlyMap<string, Pick<Entry, "pretence">> {
    return this.#entries;
  }

  /** Shows every object as it really is. Listeners are not notified. */
  clear(): void {
    this.#entries.clear();
  }

  async #replace(key: string, real: T, pretence: Pretence | undefined): Promise<void> {
    const before = this.shown(real);
    this.#set(key, real, pretence);
    await this.#tell([{ key, before, after: this.shown(real) }]);
  }

  #set(key: string, real: T, pretence: Pretence | undefined): void {
    this.#entries.delete(key);
    if (pretence) this.#update(key, real, pretence);
  }

  /** A change of the real object, as it is shown. Drops what no longer stands. */
  #seen(change: ObjectChange<T>): ObjectChange<T> {
    const { key, before, after } = change;
    const entry = this.#entries.get(key);
    if (entry === undefined) return change;
    const shownBefore = before && shownAs(entry.pretence, before);
    const left = leftOf(entry.pretence, after);
    if (after === undefined || left === undefined) this.#entries.delete(key);
    else this.#update(key, after, left);
    return { ...change, before: shownBefore, after: after && this.shown(after) };
  }

  /** Keeps the entry's place: a change of the real object does not make a pretence younger. */
  #update(key: string, real: T, pretence: Pretence): void {
    const shown = shownAs(pretence, real);
    this.#entries.set(key, {
      pretence,
      isGone: shown === undefined,
      real: this.#valuesOf(real),
      shown: shown ? this.#valuesOf(shown) : {},
    });
  }

  #valuesOf(object: T): IndexValues {
    const { indices } = kindOf(this.#resource);
    return Object.fromEntries(Object.entries(indices).map(([index, valuesOf]) => [index, valuesOf(object)]));
  }

  #tell(changes: readonly ObjectChange<T>[]): Promise<unknown> | undefined {
    const visible = changes.filter(({ before, after }) => before !== undefined || after !== undefined);
    if (visible.length === 0) return undefined;
    const waits = [...this.#listeners].map((listen) => listen(visible)).filter((wait) => wait instanceof Promise);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }
}
