import { backslash, closeList, closeObject, colon, comma, openList, openObject, quote } from "../../base/json-signs.ts";
import { identityText, type ReadingForm, reduceIfCrowded } from "./crowded.ts";
import { ItemRun, jsonIn } from "./item-run.ts";
import { type ListForm, type ListIntake, maxObjectLength } from "./list-intake.ts";
import { identityKept } from "./members.ts";
import { reducedHead } from "./reduce.ts";
import { Scratch } from "./scratch.ts";

const nothing = new Uint8Array();

/** If an item is too large, only this many bytes at its beginning are searched for its identity. */
const headOfItem = 4096;

/** The part of the top-level object that the reader is in. */
type Part = "before" | "name" | "metadata" | "items" | "other" | "after";

/**
 * Parses a JSON list while it arrives. At any time, at most one item or the list's metadata is gathered as text for
 * JSON.parse; everything else is examined byte by byte and dropped. Only ASCII characters matter here, so a multi-byte
 * character may be split between two chunks.
 *
 * After the first item, an ItemRun handles the following ones as long as they begin with the same bytes.
 */
export class JsonList implements ListForm {
  readonly #intake: ListIntake;
  readonly #form: ReadingForm;
  readonly #scratch = new Scratch();
  readonly #run = new ItemRun();
  #part: Part = "before";
  #depth = 0;
  #inItems = false;
  #inString = false;
  #escaped = false;
  #gathering = false;
  /** The item or metadata that is being gathered is too large; its bytes are dropped. */
  #overlong = false;
  /** The beginning of the last text that was too large. */
  #head = "";
  #hasItems = false;

  constructor(intake: ListIntake, form: ReadingForm) {
    this.#intake = intake;
    this.#form = form;
  }

  push(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0; ) {
      rest = this.#run.isOpen
        ? this.#run.take(rest, this.#form.parse, (value) => this.#intake.take(value))
        : this.#walk(rest);
    }
  }

  end(): boolean {
    while (this.#run.isOpen) this.push(this.#run.end());
    return this.#part === "after" && this.#hasItems;
  }

  /** Examines each byte until an ItemRun begins. Returns the bytes that are left for the run. */
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

  // #open, #separate and #close return the index from which bytes are gathered, or -1 if bytes are dropped.

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
    if (this.#scratch.length + bytes.length > maxObjectLength) this.#overlong = true;
    if (!this.#overlong) this.#scratch.append(bytes);
  }

  /** The gathered bytes and `rest` as text; undefined if they are too large. Clears the buffer. */
  #gathered(rest: Uint8Array): string | undefined {
    this.#gather(rest);
    const text = this.#overlong ? undefined : this.#scratch.text().trim();
    this.#head = this.#overlong ? this.#scratch.text(0, headOfItem) : "";
    this.#scratch.clear();
    this.#overlong = false;
    return text;
  }

  /** Handles a name of the top-level object. Returns whether its value is gathered as text. */
  #takeName(text: string | undefined): boolean {
    this.#part = text === '"metadata"' ? "metadata" : text === '"items"' ? "items" : "other";
    if (this.#part === "items") this.#hasItems = true;
    return this.#part === "metadata";
  }

  #takeMetadata(text: string | undefined): void {
    this.#intake.takeMetadata(jsonIn(text ?? ""));
  }

  #takeItem(text: string | undefined): void {
    if (text === "") return;
    if (text === undefined) {
      this.#intake.rejectTooLarge(jsonIn(reducedHead(this.#head, identityKept) ?? ""));
      return;
    }
    const read = reduceIfCrowded(text, this.#form);
    if ("crowd" in read) {
      this.#intake.reject(`of ${read.crowd}`, jsonIn(identityText(text, identityKept) ?? ""));
      return;
    }
    const value = jsonIn(read.text, this.#form.parse);
    if (value === undefined) this.#intake.reject("that is not JSON");
    else this.#intake.take(value);
  }
}
