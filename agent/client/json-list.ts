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

/** Which part of the top-level object the reader is in. */
type Part = "before" | "name" | "metadata" | "items" | "other" | "after";

/**
 * Takes a list apart while it arrives. Only one element of `items` (or the list's metadata, wherever it stands) is ever
 * text; what lies between is skipped byte by byte. Bytes above 0x7f never mean anything here, so that a character may be
 * cut by the border between two chunks. What an element holds is checked by JSON.parse, not here.
 *
 * Once an item was found in this way, those behind it are left to an ItemRun as long as they look like it.
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
  /** What is being gathered is too large; its bytes are not kept. */
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

  /** Looks at each byte, up to the first item that a run may follow; answers with what is behind that. */
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

  // The three answer from where on bytes are gathered now; -1: they are not.

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

  /** All that was gathered, as text; undefined: it was too large. */
  #gathered(rest: Uint8Array): string | undefined {
    this.#gather(rest);
    const text = this.#overlong ? undefined : this.#scratch.text().trim();
    this.#scratch.clear();
    this.#overlong = false;
    return text;
  }

  /** True where the value of that name is gathered whole. */
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
