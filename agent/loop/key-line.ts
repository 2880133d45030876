import { namespaceIn } from "../api/meta.ts";
import { Fifo } from "../base/fifo.ts";

/**
 * Keys that wait, each as NAMESPACE/NAME or, for objects without a namespace, as NAME. The namespaces take turns, and the
 * keys of one namespace keep their order, because a tenant may add any number of keys that each take long.
 */
export class KeyLine {
  /** The next namespace comes first. Each has at least one key. */
  readonly #byNamespace = new Map<string, Fifo<string>>();

  push(key: string): void {
    const namespace = namespaceIn(key);
    const keys = this.#byNamespace.get(namespace) ?? new Fifo<string>();
    keys.push(key);
    this.#byNamespace.set(namespace, keys);
  }

  peek(): string | undefined {
    return this.#first?.[1].peek();
  }

  /** Takes the next key; after it, the other namespaces have their turns. */
  shift(): string | undefined {
    const first = this.#first;
    if (first === undefined) return undefined;
    const [namespace, keys] = first;
    const key = keys.shift();
    this.#byNamespace.delete(namespace);
    if (keys.size > 0) this.#byNamespace.set(namespace, keys);
    return key;
  }

  /** Removes the next key, which uses up no turn. */
  drop(): void {
    const first = this.#first;
    if (first === undefined) return;
    const [namespace, keys] = first;
    keys.shift();
    if (keys.size === 0) this.#byNamespace.delete(namespace);
  }

  get #first(): readonly [string, Fifo<string>] | undefined {
    for (const entry of this.#byNamespace) return entry;
    return undefined;
  }
}
