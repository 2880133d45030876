import type { KubeObject } from "../api/meta.ts";
import { pods, type Resource, resourceName } from "../api/resources.ts";
import { JsonList } from "./json-list.ts";
import { type ListForm, type ListHearer, type ListMeta, ListTally } from "./list-intake.ts";
import { podMessage } from "./pod-message.ts";
import type { Message } from "./protobuf.ts";
import { isProtobuf, ProtobufList } from "./protobuf-list.ts";

/** The kinds of which there are thousands. */
const messages: ReadonlyMap<string, Message> = new Map([[resourceName(pods), podMessage]]);

/**
 * What a list of whole objects may come as. Protobuf costs the server half, and us what is read of it, not what is sent;
 * whoever does not speak it answers with JSON.
 */
export const listForms = (resource: Resource<KubeObject>): string =>
  messages.has(resourceName(resource)) ? "application/vnd.kubernetes.protobuf,application/json" : "application/json";

/** Takes a list apart while it arrives, in the form in which it comes; the first byte tells which that is. */
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

  /** After the last byte: hands out what is left, and says where the list stands; undefined: it was cut short, or is none. */
  end(): ListMeta | undefined {
    return this.#form?.end() ? this.#tally.meta : undefined;
  }
}
