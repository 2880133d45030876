import type { KubeObject } from "../../api/meta.ts";
import type { Resource } from "../../api/resources.ts";
import { crowdScaleOf, readingForm } from "./crowded.ts";
import { JsonList } from "./json-list.ts";
import { type ListForm, type ListMeta, type ListReceiver, ListTally, type Unusable } from "./list-intake.ts";
import { keptOf, messageOf } from "./members.ts";
import type { ProtobufMessage } from "./protobuf.ts";
import { isProtobuf, ProtobufList } from "./protobuf-list.ts";

/**
 * The Accept header for a list of whole objects. With protobuf, the server does half the work, and unread fields cost
 * the client nothing. A server that does not support it responds with JSON.
 */
export const listForms = (resource: Resource<KubeObject>): string =>
  messageOf(resource) ? "application/vnd.kubernetes.protobuf,application/json" : "application/json";

/** Parses a list while it arrives. Its first byte shows whether it is protobuf or JSON. */
export class ListDecoder<T extends KubeObject> {
  readonly #tally: ListTally<T>;
  readonly #message: ProtobufMessage | undefined;
  readonly #resource: Resource<T>;
  #form: ListForm | undefined;

  constructor(resource: Resource<T>, receiver: ListReceiver<T>) {
    this.#tally = new ListTally(resource, receiver);
    this.#message = messageOf(resource);
    this.#resource = resource;
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

  /** The rejected items whose identity is known. */
  get unusable(): readonly Unusable<T>[] {
    return this.#tally.unusable;
  }

  push(chunk: Uint8Array): void {
    const [first] = chunk;
    if (first === undefined) return;
    this.#form ??=
      this.#message !== undefined && isProtobuf(first)
        ? new ProtobufList(this.#tally, this.#message, crowdScaleOf(this.#resource))
        : new JsonList(this.#tally, readingForm(this.#resource, keptOf));
    this.#form.push(chunk);
  }

  /** Call after the last byte. Emits the last items and returns the metadata; undefined if the list is incomplete. */
  end(): ListMeta | undefined {
    return this.#form?.end() ? this.#tally.meta : undefined;
  }
}
