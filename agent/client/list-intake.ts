import type { KubeObject } from "../api/meta.ts";
import { parseObject } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import { isFields } from "../api/shape-rules.ts";

export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue: string | undefined;
}

/** Who hears of what is in a list. */
export interface ListHearer<T> {
  readonly each: (object: T) => void;
  /** Told as soon as the list says that, and behind which token, it goes on. */
  readonly goesOn?: ((token: string) => void) | undefined;
}

/** One way to write a list down. */
export interface ListForm {
  push(chunk: Uint8Array): void;
  /** After the last byte: hands out what is left, and says whether the list was whole. */
  end(): boolean;
}

/** What a form of list hands its finds to. */
export interface ListIntake {
  take(value: unknown): void;
  /** An object that cannot be used, in words that follow "a Pod". */
  reject(why: string): void;
  rejectTooLarge(): void;
  takeMetadata(metadata: unknown): void;
}

/** An object above this is left out: etcd takes 1.5 MiB by default, so no honest server has one. */
export const largestObject = 8 * 1024 * 1024;
const reasonsKept = 10;

/** What a list held, as far as it can be used. */
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
