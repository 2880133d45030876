import type { KubeObject } from "../../api/meta.ts";
import { nameOf, parseIdentity, parseObject } from "../../api/parse.ts";
import type { Resource } from "../../api/resources.ts";
import { isFields } from "../../api/shape-rules.ts";

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue: string | undefined;
}

/** Receives the content of a list. */
export interface ListReceiver<T> {
  readonly each: (object: T) => void;
  /** Called as soon as the list's continue token is known. */
  readonly onContinue?: ((token: string) => void) | undefined;
}

/** One encoding of a list. */
export interface ListForm {
  push(chunk: Uint8Array): void;
  /** Call after the last byte. Emits the last items and returns whether the list was complete. */
  end(): boolean;
}

/** Receives the elements found by a ListForm. */
export interface ListIntake {
  take(value: unknown): void;
  /**
   * Counts an unusable item. `why` completes the message "a Pod …", as in "that is not JSON". `identity`: the item
   * reduced to name, namespace, uid and resourceVersion, unchecked, if these can be read.
   */
  reject(why: string, identity?: unknown): void;
  rejectTooLarge(identity?: unknown): void;
  takeMetadata(metadata: unknown): void;
}

/** A rejected item whose identity could be read. It has only name, namespace, uid and resourceVersion. */
export interface Unusable<T> {
  readonly identity: T;
  readonly why: string;
}

/** Maximum size of an object, in bytes. Larger ones are rejected; etcd's own limit is 1.5 MiB by default. */
export const maxObjectLength = 8 * 1024 * 1024;
const reasonsKept = 10;

/** Validates the items of a list, passes on the valid ones, and counts both kinds. */
export class ListTally<T extends KubeObject> implements ListIntake {
  readonly #resource: Resource<T>;
  readonly #receiver: ListReceiver<T>;
  meta: ListMeta | undefined;
  items = 0;
  rejectedItems = 0;
  readonly rejected: string[] = [];
  readonly unusable: Unusable<T>[] = [];

  constructor(resource: Resource<T>, receiver: ListReceiver<T>) {
    this.#resource = resource;
    this.#receiver = receiver;
  }

  take(value: unknown): void {
    const parsed = parseObject(value, this.#resource);
    if (parsed.ok) {
      this.items++;
      this.#receiver.each(parsed.object);
    } else {
      this.#count(parsed.why, value);
    }
  }

  reject(why: string, identity?: unknown): void {
    const known = isFields(identity) ? nameOf(identity, this.#resource) : `a ${this.#resource.kind}`;
    this.#count(`${known} ${why}`, identity);
  }

  rejectTooLarge(identity?: unknown): void {
    this.reject(`of more than ${maxObjectLength} bytes`, identity);
  }

  takeMetadata(metadata: unknown): void {
    if (!isFields(metadata)) return;
    const { resourceVersion, continue: next } = metadata;
    if (typeof resourceVersion !== "string" || resourceVersion === "") return;
    const token = typeof next === "string" && next !== "" ? next : undefined;
    this.meta = { resourceVersion, continue: token };
    if (token !== undefined) this.#receiver.onContinue?.(token);
  }

  #count(why: string, item: unknown): void {
    this.rejectedItems++;
    const identity = parseIdentity(item, this.#resource);
    if (identity !== undefined) this.unusable.push({ identity, why });
    if (this.rejected.length < reasonsKept) this.rejected.push(why);
  }
}
