import { type ListForm, type ListIntake, maxObjectLength } from "./list-intake.ts";
import { identityMessage } from "./members.ts";
import { integer, magic, message, ProtobufError, type ProtobufMessage, read, text, widthOf } from "./protobuf.ts";
import { Scratch } from "./scratch.ts";

export const isProtobuf = (firstByte: number): boolean => firstByte === magic[0];

const metadata = message({ 2: text("resourceVersion"), 3: text("continue") });

/** Field numbers of the envelope (runtime.Unknown), and of every list. */
const raw = 2;
const listMetadata = 1;
const item = 2;

/** Maximum combined size, in bytes, of a field's tag and its length; a larger one is an error. */
const maxHeadLength = 16;

/**
 * Parses a list in Kubernetes' protobuf form while it arrives. An envelope contains the list, which contains its
 * metadata and its items; each is preceded by its length.
 */
export class ProtobufList implements ListForm {
  readonly #intake: ListIntake;
  readonly #item: ProtobufMessage;
  readonly #scale: number;
  readonly #scratch = new Scratch();
  #part: "magic" | "envelope" | "list" | "broken" = "magic";
  /** Number of bytes to be skipped that have not arrived yet. */
  #skipped = 0;
  /** Number of bytes of the list that have not been parsed or skipped yet. */
  #left = 0;
  #hasList = false;

  /** `scale`: see `read`. */
  constructor(intake: ListIntake, item: ProtobufMessage, scale = 1) {
    this.#intake = intake;
    this.#item = item;
    this.#scale = scale;
  }

  push(chunk: Uint8Array): void {
    const rest = this.#pass(chunk);
    if (rest.length === 0 || this.#part === "broken") return;
    this.#scratch.append(rest);
    const bytes = this.#scratch.view();
    let at = 0;
    try {
      for (let next = this.#step(bytes, at); next > at; next = this.#step(bytes, at)) at = next;
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      this.#part = "broken";
    }
    if (at >= bytes.length || this.#part === "broken") this.#scratch.clear();
    else this.#scratch.drop(at);
  }

  end(): boolean {
    return this.#part === "envelope" && this.#hasList && this.#skipped === 0 && this.#scratch.length === 0;
  }

  /** Drops the bytes to skip; returns the rest. */
  #pass(chunk: Uint8Array): Uint8Array {
    const count = Math.min(this.#skipped, chunk.length);
    this.#skipped -= count;
    return count === 0 ? chunk : chunk.subarray(count);
  }

  /** Parses the field at `at` and returns its end; returns `at` if the field is incomplete. */
  #step(bytes: Buffer, at: number): number {
    if (at >= bytes.length || this.#skipped > 0) return at;
    if (this.#part === "magic") {
      if (bytes.length < magic.length) return at;
      if (!magic.equals(bytes.subarray(0, magic.length))) throw new ProtobufError("the protobuf prefix is missing");
      this.#part = "envelope";
      return magic.length;
    }
    const head = headAt(bytes, at);
    if (head === undefined) return at;
    if (this.#part === "list") return this.#element(bytes, at, head);
    if (head.number !== raw) return this.#skip(bytes, head.begin + head.length);
    this.#part = "list";
    this.#hasList = true;
    return this.#within(head.length, head.begin);
  }

  #element(bytes: Buffer, at: number, { number, begin, length }: Head): number {
    const end = begin + length;
    if (end - at > this.#left) throw new ProtobufError("the list ends within an item");
    if (number !== item && number !== listMetadata) {
      this.#within(this.#left - (end - at), at);
      return this.#skip(bytes, end);
    }
    if (length > maxObjectLength) {
      this.#intake.rejectTooLarge();
      this.#within(this.#left - (end - at), at);
      return this.#skip(bytes, end);
    }
    if (end > bytes.length) return at;
    if (number === item) this.#takeItem(bytes, begin, end);
    else this.#intake.takeMetadata(read(bytes, begin, end, metadata));
    return this.#within(this.#left - (end - at), end);
  }

  #takeItem(bytes: Buffer, begin: number, end: number): void {
    let value: unknown;
    try {
      value = read(bytes, begin, end, this.#item, this.#scale);
    } catch (error) {
      if (!(error instanceof ProtobufError)) throw error;
      this.#intake.reject(`that cannot be read: ${error.message}`, identityIn(bytes, begin, end));
      return;
    }
    this.#intake.take(value);
  }

  /** Sets how many bytes of the list are left. Returns `at`. */
  #within(left: number, at: number): number {
    this.#left = left;
    if (left === 0) this.#part = "envelope";
    return at;
  }

  #skip(bytes: Buffer, end: number): number {
    this.#skipped = Math.max(0, end - bytes.length);
    return Math.min(end, bytes.length);
  }
}

/** The item's identity, unchecked; undefined if even that cannot be read. */
function identityIn(bytes: Buffer, begin: number, end: number): unknown {
  try {
    return read(bytes, begin, end, identityMessage);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    return undefined;
  }
}

interface Head {
  readonly number: number;
  readonly begin: number;
  readonly length: number;
}

/** The number of the field at `at`, and where its value lies; undefined if more bytes are needed. */
function headAt(bytes: Buffer, at: number): Head | undefined {
  const end = Math.min(bytes.length, at + maxHeadLength);
  try {
    const tag = integer(bytes, at, end);
    const begin = at + widthOf(bytes, at);
    const length = integer(bytes, begin, end);
    const head = { number: tag >>> 3, begin: begin + widthOf(bytes, begin) };
    if ((tag & 7) === 0) return { ...head, length: 0 };
    if ((tag & 7) !== 2 || length < 0) throw new ProtobufError("a field has a form that Kubernetes does not use");
    return { ...head, length };
  } catch (error) {
    if (end < at + maxHeadLength && error instanceof ProtobufError) return undefined;
    throw error;
  }
}
