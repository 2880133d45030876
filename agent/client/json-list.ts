import { isCrowded, mostMembers } from "./crowded.ts";
import { ItemRun, jsonIn } from "./item-run.ts";
import { type ListForm, type ListIntake, largestObject } from "./list-intake.ts";
import { Scratch } from "./scratch.ts";

const nothing = new Uint8Array();

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** The part of the top-level object that the reader is in. */
type Part = "before" | "name" | "metadata" | "items" | "other" | "after";

/**
 * Parses a list while it arrives. Only one element of `items` (or the list's metadata, wherever it stands) is ever a
 * string; the rest is skipped byte by byte. Bytes above 0x7f have no meaning here, so a character may be split between
 * two chunks. JSON.parse checks the elements.
 *
 * After the first item found this way, an ItemRun handles the following ones as long as they look like it.
 */
export class JsonList implements ListForm {
  readonly #intake: ListIntake;
  readonly #scratch = new Scratch();
  readonly #run = new ItemRun();
  #part: Part = "before";
  #depth = 0;
  #inItems = false;
  #inString = false;
  #escaped = false;
  #gathering = false;
  /** The current element is too large; its bytes are dropped. */
  #overlong = false;
  #sawItems = false;

  constructor(intake: ListIntake) {
    this.#intake = intake;
  }

  push(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0; ) {
      rest = this.#run.isOpen ? this.#run.take(rest, (value) => this.#intake.take(value)) : this.#walk(rest);
    }
  }

  end(): boolean {
    while (this.#run.isOpen) this.push(this.#run.end());
    return this.#part === "after" && this.#sawItems;
  }

  /** Reads each byte, up to the first item that a run may follow; returns the bytes after it. */
  #walk(chunk: Uint8Array): Uint8Array {
    const end = chunk.length;
    let inString = this.#inString;
    let escaped = this.#escaped;
    let from = this.#gathering ? 0 : -1;
    for (let at = 0; at < end; at++) {
      const byte = chunk[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === comma || byte === colon) {
        if (this.#depth > 2) continue;
        from = this.#separate(byte, from, at, chunk);
        if (this.#run.isOpen) {
          this.#inString = this.#escaped = false;
          this.#gathering = true;
          return chunk.subarray(from);
        }
      } else if (byte === openObject || byte === openList) {
        this.#depth++;
        if (this.#depth <= 2) from = this.#open(byte, from, at);
      } else if (byte === closeObject || byte === closeList) {
        if (this.#depth <= 2) from = this.#close(from, at, chunk);
        this.#depth--;
      }
    }
    this.#inString = inString;
    this.#escaped = escaped;
    this.#gathering = from >= 0;
    if (from >= 0) this.#gather(chunk.subarray(from));
    return nothing;
  }

  // These three return from where bytes are gathered now; -1 if they are not.

  #open(byte: number, from: number, at: number): number {
    if (this.#depth === 1 && this.#part === "before") {
      this.#part = byte === openObject ? "name" : "other";
      return byte === openObject ? at + 1 : -1;
    }
    if (this.#depth === 2 && this.#part === "items") {
      this.#inItems = byte === openList;
      return this.#inItems ? at + 1 : -1;
    }
    return from;
  }

  #separate(byte: number, from: number, at: number, chunk: Uint8Array): number {
    if (this.#depth === 2) {
      if (!this.#inItems || byte === colon) return from;
      const text = this.#gathered(chunk.subarray(from, at));
      this.#takeItem(text);
      if (text !== undefined) this.#run.begin(text);
      return at + 1;
    }
    if (byte === colon) {
      if (this.#part !== "name") return from;
      return this.#takeName(this.#gathered(chunk.subarray(from, at))) ? at + 1 : -1;
    }
    if (this.#part === "metadata") this.#takeMetadata(this.#gathered(chunk.subarray(from, at)));
    if (this.#part === "before" || this.#part === "after") return -1;
    this.#part = "name";
    return at + 1;
  }

  #close(from: number, at: number, chunk: Uint8Array): number {
    if (this.#depth === 2) {
      if (!this.#inItems) return from;
      this.#takeItem(this.#gathered(chunk.subarray(from, at)));
      this.#inItems = false;
      return -1;
    }
    if (this.#part === "metadata") this.#takeMetadata(this.#gathered(chunk.subarray(from, at)));
    if (this.#part !== "before") this.#part = "after";
    return -1;
  }

  #gather(bytes: Uint8Array): void {
    if (this.#scratch.length + bytes.length > largestObject) this.#overlong = true;
    if (!this.#overlong) this.#scratch.append(bytes);
  }

  /** All gathered bytes as text; undefined if they were too many. */
  #gathered(rest: Uint8Array): string | undefined {
    this.#gather(rest);
    const text = this.#overlong ? undefined : this.#scratch.text().trim();
    this.#scratch.clear();
    this.#overlong = false;
    return text;
  }

  /** True if the value of that name is gathered whole. */
  #takeName(text: string | undefined): boolean {
    this.#part = text === '"metadata"' ? "metadata" : text === '"items"' ? "items" : "other";
    if (this.#part === "items") this.#sawItems = true;
    return this.#part === "metadata";
  }

  #takeMetadata(text: string | undefined): void {
    this.#intake.takeMetadata(jsonIn(text ?? ""));
  }

  #takeItem(text: string | undefined): void {
    if (text === "") return;
    const isTooMuch = text !== undefined && isCrowded(text);
    const value = text === undefined || isTooMuch ? undefined : jsonIn(text);
    if (text === undefined) this.#intake.rejectTooLarge();
    else if (isTooMuch) this.#intake.reject(`of more than ${mostMembers} members`);
    else if (value === undefined) this.#intake.reject("that is no JSON");
    else this.#intake.take(value);
  }
}
