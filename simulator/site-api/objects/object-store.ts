import type { KeyRange, RevisionLog } from "../../../storage/revision-log.ts";
import type { ServedKind } from "../served-kind.ts";
import type { ChangeTail, LoggedChange } from "./change-tail.ts";
import { type ApiObject, Entry, normalized } from "./object.ts";

/** The objects of the site, as entries of the revision log; watchers are notified of every write. */
export class ObjectStore {
  readonly #log: RevisionLog;
  readonly #tail: ChangeTail;

  constructor({ log, tail }: { readonly log: RevisionLog; readonly tail: ChangeTail }) {
    this.#log = log;
    this.#tail = tail;
  }

  get revision(): number {
    return this.#log.revision;
  }

  get compacted(): number {
    return this.#log.compacted;
  }

  get(kind: ServedKind, namespace: string | undefined, name: string): Entry | undefined {
    const found = this.#log.get(keyOf(kind, namespace, name));
    return found && new Entry(found.key, found.revision, found.value);
  }

  /** Stores a new object. Returns undefined if the name is taken. */
  create(kind: ServedKind, object: ApiObject): Entry | undefined {
    const { name, namespace } = object.metadata;
    const key = keyOf(kind, typeof namespace === "string" ? namespace : undefined, name);
    return this.#write(object, undefined, (value) => this.#log.create(key, value));
  }

  /** Replaces an object. Returns undefined if another writer was faster. */
  update(before: Entry, object: ApiObject): Entry | undefined {
    return this.#write(object, before, (value) => this.#log.update(before.key, before.revision, value));
  }

  /**
   * Deletes an object; `object` is the last state that watchers see. Returns undefined if another writer was faster.
   */
  remove(before: Entry, object: ApiObject): Entry | undefined {
    return this.#write(object, before, (value) => this.#log.remove(before.key, before.revision, value), true);
  }

  /** At most `limit` objects of a range in key order, as they were at a revision. */
  page(range: KeyRange, at: number, limit: number): readonly Entry[] {
    return this.#log.page(range, at, limit).map(({ key, revision, value }) => new Entry(key, revision, value));
  }

  count(range: KeyRange, at: number): number {
    return this.#log.count(range, at);
  }

  /** At most `limit` changes after a revision, from the log. */
  after(revision: number, range: KeyRange, limit: number): readonly LoggedChange[] {
    return this.#log.after(revision, range, limit).map((change) => ({
      deleted: change.deleted,
      after: new Entry(change.key, change.revision, change.value),
      before: change.before === undefined ? undefined : new Entry(change.key, 0, change.before),
    }));
  }

  #write(
    object: ApiObject,
    before: Entry | undefined,
    append: (value: (revision: number) => string) => { key: string; revision: number; value: string } | undefined,
    deleted = false,
  ): Entry | undefined {
    let written = object;
    const entry = append((revision) => {
      written = normalized(object, String(revision));
      return JSON.stringify(written);
    });
    if (entry === undefined) return undefined;
    const after = new Entry(entry.key, entry.revision, entry.value, written);
    this.#tail.append({ deleted, after, before });
    return after;
  }
}

/** The log's key of an object. Names were checked before, so none contains a slash. */
export const keyOf = ({ plural }: ServedKind, namespace: string | undefined, name: string): string =>
  namespace === undefined ? `${plural}/${name}` : `${plural}/${namespace}/${name}`;

/** The range of keys of all objects of a kind, of those in a namespace, or of one. */
export function rangeOf({ plural }: ServedKind, namespace?: string, name?: string): KeyRange {
  const prefix = namespace === undefined ? `${plural}/` : `${plural}/${namespace}/`;
  if (name !== undefined) return { from: prefix + name, to: `${prefix}${name}\0` };
  return { from: prefix, to: `${prefix.slice(0, -1)}0` };
}
