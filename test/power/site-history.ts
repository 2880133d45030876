import type { RevisionLog } from "../../storage/revision-log.ts";

interface Version {
  readonly revision: number;
  /** Undefined: the object was deleted. */
  readonly text: string | undefined;
}

const everything = { from: "", to: "\u{10ffff}" };
const page = 1000;

/** All states of a site's objects: the expected cache at any position, even after compaction. */
export class SiteHistory {
  readonly #log: RevisionLog;
  readonly #versions = new Map<string, Version[]>();
  #revision = 0;

  constructor(log: RevisionLog) {
    this.#log = log;
  }

  get revision(): number {
    this.follow();
    return this.#revision;
  }

  /** Reads the new changes. Must be called before each compaction. */
  follow(): void {
    for (;;) {
      const changes = this.#log.after(this.#revision, everything, page);
      for (const { key, revision, value, deleted } of changes) {
        const versions = this.#versions.get(key) ?? [];
        this.#versions.set(key, versions);
        versions.push({ revision, text: deleted ? undefined : value });
        this.#revision = revision;
      }
      if (changes.length < page) return;
    }
  }

  /** The objects whose keys begin so, as they were at a revision. */
  *at(prefix: string, revision: number): IterableIterator<unknown> {
    this.follow();
    for (const [key, versions] of this.#versions) {
      if (!key.startsWith(prefix)) continue;
      const text = versions.findLast((version) => version.revision <= revision)?.text;
      if (text !== undefined) yield JSON.parse(text);
    }
  }

  /** Nobody will ask for what was before this revision any more. */
  forget(revision: number): void {
    for (const [key, versions] of this.#versions) {
      const from = versions.findLastIndex((version) => version.revision <= revision);
      if (from > 0) versions.splice(0, from);
      if (versions.length === 1 && versions[0]?.text === undefined) this.#versions.delete(key);
    }
  }
}
