import type { Database } from "../database/database.ts";
import type { Key, StoredObject } from "../object.ts";
import type { DecodeCache } from "./decode-cache.ts";

/**
 * The newest states that do not justify a transaction of their own, and so wait in memory for the next one. Each is a
 * later state of a stored object, with the same uid and index values, and readers see it in place of the stored one.
 */
export class QuietStates<T extends StoredObject> {
  readonly #states = new Map<Key, T>();
  readonly #database: Database;
  readonly #resource: number;
  readonly #decoded: DecodeCache<Key | number, T>;

  /** `decoded`: the decoded stored states; those that are no longer the newest are dropped. */
  constructor(deps: {
    readonly database: Database;
    readonly resource: number;
    readonly decoded: DecodeCache<Key | number, T>;
  }) {
    this.#database = deps.database;
    this.#resource = deps.resource;
    this.#decoded = deps.decoded;
  }

  get isEmpty(): boolean {
    return this.#states.size === 0;
  }

  get(key: Key): T | undefined {
    return this.#states.get(key);
  }

  /** Makes these states visible to readers without writing them. */
  keep(states: ReadonlyMap<Key, T>): void {
    for (const [key, object] of states) {
      this.#states.set(key, object);
      this.#decoded.delete(key);
    }
  }

  /** Writes all states; those in `more` replace kept states with the same key. Call `clearWritten` after the commit. */
  writeAll(more: ReadonlyMap<Key, T>): void {
    for (const [key, object] of this.#states) if (!more.has(key)) this.#overwrite(key, object);
    for (const [key, object] of more) this.#overwrite(key, object);
  }

  /** Called after the transaction of `writeAll` was committed: drops the kept states from memory. */
  clearWritten(more: ReadonlyMap<Key, T>): void {
    this.#states.clear();
    for (const key of more.keys()) this.#decoded.delete(key);
  }

  #overwrite(key: Key, object: T): void {
    this.#database
      .prepare("UPDATE objects SET version = ?, text = ? WHERE resource = ? AND key = ?")
      .run(object.metadata.resourceVersion, JSON.stringify(object), this.#resource, key);
  }
}
