import { namespaceIn } from "../api/meta.ts";
import type { Instant } from "../base/clock.ts";
import { Fifo } from "../base/fifo.ts";

/** A key that must be processed, as NAMESPACE/NAME or, for objects without a namespace, as NAME. */
export interface AddedKey {
  readonly key: string;
  readonly since: Instant;
}

/**
 * Keys that wait. The namespaces take turns, and the keys of one namespace keep their order, because a tenant may add any
 * number of keys that each take long.
 */
export class KeyLine {
  /** The next namespace comes first. Each has at least one key. */
  readonly #byNamespace = new Map<string, Fifo<AddedKey>>();

  push(added: AddedKey): void {
    const namespace = namespaceIn(added.key);
    const keys = this.#byNamespace.get(namespace) ?? new Fifo<AddedKey>();
    keys.push(added);
    this.#byNamespace.set(namespace, keys);
  }

  peek(): AddedKey | undefined {
    return this.#first?.[1].peek();
  }

  /** Takes the next key; after it, the other namespaces have their turns. */
  shift(): AddedKey | undefined {
    const first = this.#first;
    if (first === undefined) return undefined;
    const [namespace, keys] = first;
    const added = keys.shift();
    this.#byNamespace.delete(namespace);
    if (keys.size > 0) this.#byNamespace.set(namespace, keys);
    return added;
  }

  /** Removes the next key, which uses up no turn. */
  drop(): void {
    const first = this.#first;
    if (first === undefined) return;
    const [namespace, keys] = first;
    keys.shift();
    if (keys.size === 0) this.#byNamespace.delete(namespace);
  }

  get #first(): readonly [string, Fifo<AddedKey>] | undefined {
    for (const entry of this.#byNamespace) return entry;
    return undefined;
  }
}
