import { DeltaFIFO } from "../../../../storage/delta-fifo/delta-fifo.ts";
import { Journal, type QueuedRow } from "../../../../storage/delta-fifo/journal.ts";
import type { Replacement } from "../../../../storage/delta-fifo/list-replacement.ts";
import { Indexer } from "../../../../storage/indexer/indexer.ts";
import { type Change, type Delta, identityOf, type Key, keyOf, type StoredObject } from "../../../../storage/object.ts";
import { cacheMigrations } from "../../../../storage/schema.ts";
import { inMemory } from "../../in-memory.ts";
import { MalformedCase } from "../../malformed.ts";
import { shown, shownObject } from "../../object-form.ts";
import type { Config, Event } from "./forms.ts";
import { Marks, type ShownDelta } from "./marks.ts";

const resource = "things";
const usualDeltas = 16;
const everything = 1_000_000;

export interface Entry {
  readonly key: Key;
  readonly deltas: readonly ShownDelta[];
}

export interface Happened {
  readonly refused?: string;
  readonly popped?: readonly Entry[];
  readonly changes?: readonly Change<StoredObject>[];
}

/** A DeltaFIFO with its store on a separate disk, and the operations on it. */
export class FifoStory {
  readonly #config: Config;
  readonly #database = inMemory(cacheMigrations);
  readonly #marks = new Marks();
  #indexer: Indexer<StoredObject>;
  #fifo: DeltaFIFO<StoredObject>;
  /** What waits is read where it lies. */
  #journal: Journal;
  #replacement: Replacement<StoredObject> | undefined;

  constructor(config: Config, known: readonly StoredObject[], populated: boolean) {
    this.#config = config;
    [this.#indexer, this.#fifo, this.#journal] = this.#open();
    if (populated) {
      this.#begin();
      this.#page(known);
      this.#commit("0");
      this.#fifo.pop(known.length + 1);
      this.#restart();
    }
  }

  close(): void {
    this.#database.close();
  }

  get state(): object {
    const { hasSynced, depth, resourceVersion } = this.#fifo;
    return { synced: hasSynced, depth, position: resourceVersion };
  }

  get merged(): number {
    return this.#fifo.merged;
  }

  get stored(): readonly string[] {
    return [...this.#indexer.list()].map(shownObject);
  }

  /** In the order of the pops. The mark of a pending key is shown with its pending deltas. */
  get queue(): readonly Entry[] {
    const waiting = new Map<Key, QueuedRow[]>();
    for (const row of this.#rows()) waiting.set(row.key, [...(waiting.get(row.key) ?? []), row]);
    const placed: { readonly place: number; readonly entry: Entry }[] = [...waiting].map(([key, rows]) => ({
      place: rows[0]?.seq ?? 0,
      entry: { key, deltas: [...this.#marks.deltas(key), ...this.#deltas(key, rows)] },
    }));
    for (const [key, { behind, deltas }] of this.#marks.entries()) {
      if (!waiting.has(key)) placed.push({ place: behind + 0.5, entry: { key, deltas } });
    }
    return placed.sort((a, b) => a.place - b.place).map(({ entry }) => entry);
  }

  /** Operations that the queue refuses appear in the outcome. */
  happen(event: Event): Happened {
    try {
      return this.#happen(event);
    } catch (error) {
      if (error instanceof MalformedCase || !(error instanceof Error)) throw error;
      return { refused: error.message };
    }
  }

  #happen(event: Event): Happened {
    switch (event.do) {
      case "add":
        return this.#group([{ type: "Added", object: event.object }], event.resourceVersion);
      case "update":
        return this.#group([{ type: "Updated", object: event.object }], event.resourceVersion);
      case "delete":
        return this.#group([{ type: "Deleted", object: event.object }], event.resourceVersion);
      case "group":
        return this.#group(event.deltas, event.resourceVersion);
      case "replace":
        this.#begin();
        this.#page(event.objects);
        this.#commit(event.resourceVersion ?? newest(event.objects));
        return {};
      case "fill":
        this.#fill(event.objects, event.resourceVersion ?? newest(event.objects));
        return {};
      case "beginReplace":
        this.#begin();
        return {};
      case "page":
        this.#page(event.objects);
        return {};
      case "commitReplace":
        this.#commit(event.resourceVersion);
        return {};
      case "abortReplace":
        this.#underWay("abortReplace").abort();
        this.#marks.drop();
        return {};
      case "resync":
        this.#fifo.resync("", everything);
        return {};
      case "bookmark":
        this.#fifo.bookmark(event.resourceVersion);
        return {};
      case "pop":
        return this.#pop(event.keys === "all" ? everything : (event.keys ?? 1));
      case "restart":
        this.#restart();
        return {};
      default:
        return event satisfies never;
    }
  }

  #group(deltas: readonly Delta<StoredObject>[], position = newest(deltas.map(({ object }) => object))): Happened {
    const changes = this.#config.atOnce ? this.#fifo.appendAndPop(deltas, position) : undefined;
    if (changes) return { changes };
    this.#fifo.append(deltas, position);
    return {};
  }

  #begin(): void {
    this.#marks.drop();
    this.#replacement = this.#fifo.replace();
  }

  #fill(objects: readonly StoredObject[], position: string): void {
    const replacement = this.#fifo.fill();
    if (replacement === undefined) throw new Error("this is not the first thing that comes");
    replacement.page(objects);
    replacement.commit(position);
  }

  /** One object at a time, to see which ones the queue only marks. */
  #page(objects: readonly StoredObject[]): void {
    const replacement = this.#underWay("page");
    for (const object of objects) {
      const key = keyOf(object);
      const before = this.#journal.newest(key)?.seq;
      replacement.page([object]);
      if (this.#journal.newest(key)?.seq === before) this.#mark(key, object);
    }
  }

  #mark(key: Key, object: StoredObject): void {
    const behind = this.#allRows().at(-1)?.seq ?? 0;
    const { uid } = object.metadata;
    const delta = { type: this.#listed, object: shownObject(object), uid, marked: true } as const;
    this.#marks.stage(key, behind, delta);
  }

  #commit(position: string): void {
    this.#underWay("commitReplace").commit(position);
    this.#marks.commit();
  }

  #underWay(what: string): Replacement<StoredObject> {
    if (this.#replacement) return this.#replacement;
    throw new MalformedCase([`${what} comes without a beginReplace in front of it`]);
  }

  /** The queue skips keys without a resulting change; it took those that are no longer pending. */
  #pop(most: number): Happened {
    const popped: Entry[] = [];
    const changes: Change<StoredObject>[] = [];
    while (popped.length < most) {
      const before = this.queue;
      const [next] = before;
      if (next !== undefined && !this.#isJournaled(next.key)) {
        popped.push(next);
        this.#marks.delete(next.key);
        continue;
      }
      if (this.#fifo.depth === 0) break;
      const changesOfKey = this.#fifo.pop(1);
      changes.push(...changesOfKey);
      popped.push(...before.filter((entry) => this.#isTaken(entry)), ...this.#filled(changesOfKey, before));
      for (const { key } of popped) this.#marks.delete(key);
    }
    return { popped, changes };
  }

  #isTaken({ key, deltas }: Entry): boolean {
    return !this.#isJournaled(key) && deltas.some(({ marked }) => !marked);
  }

  /** The objects of the very first list were never pending in the journal. */
  #filled(changesOfKey: readonly Change<StoredObject>[], waited: readonly Entry[]): readonly Entry[] {
    return changesOfKey.flatMap(({ key, after }) => {
      const isOfJournal = !this.#isJournaled(key) && waited.some((entry) => entry.key === key);
      if (after === undefined || isOfJournal) return [];
      return [{ key, deltas: [{ type: this.#listed, object: shownObject(after), uid: after.metadata.uid }] }];
    });
  }

  /** Marks cause no reports, so losing them does no harm. */
  #restart(): void {
    this.#replacement = undefined;
    this.#marks.clear();
    [this.#indexer, this.#fifo, this.#journal] = this.#open();
  }

  #open(): [Indexer<StoredObject>, DeltaFIFO<StoredObject>, Journal] {
    const { deltasPerObject = usualDeltas } = this.#config;
    const database = this.#database;
    const indexer = new Indexer<StoredObject>({ database, resource, indices: {}, decodedBytes: 1_000_000 });
    const fifo = new DeltaFIFO({ database, resource, indexer, deltasPerObject });
    return [indexer, fifo, new Journal(database, resource)];
  }

  get #listed(): string {
    return this.#config.replaceAs ?? "Sync";
  }

  #isJournaled(key: Key): boolean {
    return this.#journal.rows(key, this.#journal.ceiling).length > 0;
  }

  #rows(): readonly QueuedRow[] {
    return this.#journal.queued(this.#journal.ceiling, everything);
  }

  /** With those of a list under way. */
  #allRows(): readonly QueuedRow[] {
    return this.#journal.queued(Number.MAX_SAFE_INTEGER, everything);
  }

  #deltas(key: Key, rows: readonly QueuedRow[]): readonly ShownDelta[] {
    return rows.map(({ type, uid, version, hasObject }) => ({
      type: type === "Replaced" ? this.#listed : type,
      object: shown(key, { uid, version }),
      uid,
      ...(type === "Deleted" && { tombstone: !hasObject }),
    }));
  }
}

/** Versions are numbers if their order matters. */
function newest(objects: readonly StoredObject[]): string {
  const versions = objects.map((object) => identityOf(object).version);
  return versions.reduce((most, version) => (Number(version) > Number(most) ? version : most), versions[0] ?? "0");
}
