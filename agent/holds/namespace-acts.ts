import type { Instant } from "../base/clock.ts";
import { actsWithin, type CountedActs, withOne, withoutOne } from "./valve.ts";

/** How many acts on pods of a namespace are counted. */
export interface NamespaceCount {
  readonly namespace: string;
  readonly acts: number;
}

/**
 * The acts on pods within the last hour, by namespace. They belong to a term: the next leader counts from the
 * beginning, and gives each namespace its share of the acts that are left in the hour.
 */
export class NamespaceActs {
  readonly #acts = new Map<string, readonly CountedActs[]>();

  add(namespace: string, now: Instant): void {
    this.#acts.set(namespace, withOne(this.#acts.get(namespace) ?? [], now));
  }

  /** Takes back an act that was added at that instant. */
  remove(namespace: string, at: Instant): void {
    this.#acts.set(namespace, withoutOne(this.#acts.get(namespace) ?? [], at));
  }

  of(namespace: string, now: Instant): number {
    return actsWithin({ acts: this.#acts.get(namespace) ?? [], admitted: 0 }, now);
  }

  /** The namespaces with the most acts, in descending order. */
  most(count: number, now: Instant): readonly NamespaceCount[] {
    for (const namespace of this.#acts.keys()) if (this.of(namespace, now) === 0) this.#acts.delete(namespace);
    return [...this.#acts.keys()]
      .map((namespace) => ({ namespace, acts: this.of(namespace, now) }))
      .sort((a, b) => b.acts - a.acts)
      .slice(0, count);
  }

  /** The acts of all namespaces together, and how many of the given namespaces have used no act (`idle`). */
  all(
    namespaces: Pick<ReadonlySet<string>, "size" | "has">,
    now: Instant,
  ): { readonly acts: number; readonly idle: number } {
    const used = [...this.#acts.keys()].map((namespace) => ({ namespace, acts: this.of(namespace, now) }));
    const active = used.filter(({ namespace, acts }) => acts > 0 && namespaces.has(namespace)).length;
    return { acts: used.reduce((sum, { acts }) => sum + acts, 0), idle: namespaces.size - active };
  }

  clear(): void {
    this.#acts.clear();
  }
}
