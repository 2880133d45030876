import type { KubeObject } from "../api/meta.ts";
import { parseObject } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import { isFields } from "../api/shape-rules.ts";

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue: string | undefined;
}

/** Receives the content of a list. */
export interface ListHearer<T> {
  readonly each: (object: T) => void;
  /** Called as soon as the list's continue token is known. */
  readonly goesOn?: ((token: string) => void) | undefined;
}

/** One encoding of a list. */
export interface ListForm {
  push(chunk: Uint8Array): void;
  /** Call after the last byte: emits the rest and returns whether the list was complete. */
  end(): boolean;
}

/** Receives the elements found by a ListForm. */
export interface ListIntake {
  take(value: unknown): void;
  /** Reports an unusable object, in words that follow "a Pod". */
  reject(why: string): void;
  rejectTooLarge(): void;
  takeMetadata(metadata: unknown): void;
}

/** In bytes. A larger object is rejected: etcd takes 1.5 MiB by default, so no honest server has one. */
export const largestObject = 8 * 1024 * 1024;
const reasonsKept = 10;

/** Collects the usable content of a list. */
export class ListTally<T extends KubeObject> implements ListIntake {
  readonly #resource: Resource<T>;
  readonly #hearer: ListHearer<T>;
  meta: ListMeta | undefined;
  items = 0;
  rejectedItems = 0;
  readonly rejected: string[] = [];

  constructor(resource: Resource<T>, hearer: ListHearer<T>) {
    this.#resource = resource;
    this.#hearer = hearer;
  }

  take(value: unknown): void {
    const parsed = parseObject(value, this.#resource);
    if (parsed.ok) {
      this.items++;
      this.#hearer.each(parsed.object);
    } else {
      this.#count(parsed.why);
    }
  }

  reject(why: string): void {
    this.#count(`a ${this.#resource.kind} ${why}`);
  }

  rejectTooLarge(): void {
    this.reject(`of more than ${largestObject} bytes`);
  }

  takeMetadata(metadata: unknown): void {
    if (!isFields(metadata)) return;
    const { resourceVersion, continue: next } = metadata;
    if (typeof resourceVersion !== "string" || resourceVersion === "") return;
    const token = typeof next === "string" && next !== "" ? next : undefined;
    this.meta = { resourceVersion, continue: token };
    if (token !== undefined) this.#hearer.goesOn?.(token);
  }

  #count(why: string): void {
    this.rejectedItems++;
    if (this.rejected.length < reasonsKept) this.rejected.push(why);
  }
}
