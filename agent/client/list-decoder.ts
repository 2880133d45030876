import type { KubeObject } from "../api/meta.ts";
import { pods, type Resource, resourceName } from "../api/resources.ts";
import { JsonList } from "./json-list.ts";
import { type ListForm, type ListHearer, type ListMeta, ListTally } from "./list-intake.ts";
import { podMessage } from "./pod-message.ts";
import type { Message } from "./protobuf.ts";
import { isProtobuf, ProtobufList } from "./protobuf-list.ts";

/** Messages of the kinds that occur in thousands. */
const messages: ReadonlyMap<string, Message> = new Map([[resourceName(pods), podMessage]]);

/**
 * The accepted forms of a list of whole objects. Protobuf halves the server's cost, and ours depends on the fields
 * read, not on those sent; a server without it answers with JSON.
 */
export const listForms = (resource: Resource<KubeObject>): string =>
  messages.has(resourceName(resource)) ? "application/vnd.kubernetes.protobuf,application/json" : "application/json";

/** Parses a list while it arrives; the first byte shows its form. */
export class ListDecoder<T extends KubeObject> {
  readonly #tally: ListTally<T>;
  readonly #message: Message | undefined;
  #form: ListForm | undefined;

  constructor(resource: Resource<T>, hearer: ListHearer<T>) {
    this.#tally = new ListTally(resource, hearer);
    this.#message = messages.get(resourceName(resource));
  }

  get items(): number {
    return this.#tally.items;
  }

  get rejectedItems(): number {
    return this.#tally.rejectedItems;
  }

  get rejected(): readonly string[] {
    return this.#tally.rejected;
  }

  push(chunk: Uint8Array): void {
    const [first] = chunk;
    if (first === undefined) return;
    this.#form ??=
      this.#message !== undefined && isProtobuf(first)
        ? new ProtobufList(this.#tally, this.#message)
        : new JsonList(this.#tally);
    this.#form.push(chunk);
  }

  /** Call after the last byte: emits the rest and returns the metadata; undefined if cut short or not a list. */
  end(): ListMeta | undefined {
    return this.#form?.end() ? this.#tally.meta : undefined;
  }
}
