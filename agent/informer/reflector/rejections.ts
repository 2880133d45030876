import type { Key } from "../../../storage/object.ts";

/** The objects that could not be used. */
export interface Rejected {
  /**
   * Number of states that could not be used since the start, plus objects that were already unusable at the start.
   * Never decreases.
   */
  readonly count: number;
  /**
   * The last few reasons, most with the object's key, so that an operator can find the object. Omits reasons of objects
   * that are now usable or deleted.
   */
  readonly last: readonly string[];
}

/** Stores the unusable objects, because after a restart the watch resumes and does not send them again. */
export interface RejectionStore {
  entries(): readonly (readonly [Key, string])[];
  set(key: Key, why: string): void;
  delete(key: Key): void;
  replace(entries: Iterable<readonly [Key, string]>): void;
}

/** Number of reasons that are kept. */
const kept = 5;
/** Maximum length of a reason, in characters; a longer one is truncated. */
const maxTextLength = 300;
/** Number of unusable objects that are kept by key; any others are only counted. */
const maxObjects = 1000;

/** The objects whose newest state cannot be used, and the events and list items whose object is unknown. */
export class Rejections {
  readonly #store: RejectionStore | undefined;
  readonly #objects: Map<Key, string>;
  #count: number;
  readonly #last: string[] = [];

  constructor(store?: RejectionStore) {
    this.#store = store;
    this.#objects = new Map(store?.entries());
    this.#count = this.#objects.size;
  }

  /** Counts events or items without a known key. `why` may have the reasons for some of them only. */
  add(why: readonly string[], count = why.length): void {
    this.#count += count;
    for (const text of why) this.#last.push(shortened(text));
    this.#last.splice(0, Math.max(0, this.#last.length - kept));
  }

  /** The newest state of this object cannot be used. */
  reject(key: Key, why: string): void {
    const text = shortened(why);
    this.#count++;
    if (this.#objects.get(key) === text) return;
    if (this.#objects.size >= maxObjects && !this.#objects.has(key)) return;
    this.#objects.set(key, text);
    this.#store?.set(key, text);
  }

  /** Forgets an object's reason, because the object is usable again or has been deleted. */
  accept(key: Key): void {
    if (this.#objects.delete(key)) this.#store?.delete(key);
  }

  /** A list found exactly these objects unusable. */
  listed(objects: ReadonlyMap<Key, string>): void {
    if (objects.size === 0 && this.#objects.size === 0) return;
    this.#objects.clear();
    this.#count += objects.size;
    for (const [key, why] of objects) {
      if (this.#objects.size >= maxObjects) break;
      this.#objects.set(key, shortened(why));
    }
    this.#store?.replace(this.#objects);
  }

  /** The known objects with their reasons. */
  get objects(): Iterable<readonly [Key, string]> {
    return this.#objects;
  }

  get seen(): Rejected {
    const known = [...this.#objects.values()].slice(-kept);
    return { count: this.#count, last: [...this.#last, ...known].slice(-kept) };
  }
}

const shortened = (text: string): string => (text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text);
