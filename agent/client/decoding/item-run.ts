import type { ParseJson } from "../../api/exact-integers.ts";
import { Scratch } from "./scratch.ts";

/**
 * How many bytes of an item's beginning the search compares: enough to distinguish the start of an item from its
 * content.
 */
const headLength = 16;
/** Maximum length of an item, in bytes. Longer ones are left to the byte-wise reader. */
const maxItemLength = 131_072;
/** After this many wrong guesses, no more runs begin, because the list's items differ too much. */
const maxMisses = 100;

const nothing = Buffer.alloc(0);

/**
 * A run of list items that begin with the same bytes, as servers write them. The end of an item is found by searching
 * for the beginning of the next, which is many times faster than examining each byte.
 *
 * A match is only a guess, which is confirmed if the text before it parses, because a JSON object is complete at only
 * one position. If it does not parse (the match lies inside the item, or the item is broken), the run ends and its
 * bytes go back to the byte-wise reader.
 */
export class ItemRun {
  readonly #scratch = new Scratch();
  #border: Buffer = nothing;
  #misses = 0;

  /** While true, the next bytes belong to `take`. Once false, all bytes that the run held have been returned. */
  get isOpen(): boolean {
    return this.#border.length > 0;
  }

  /** Begins a run after the comma that follows an item with this text, unless guesses have failed too often. */
  begin(item: string): void {
    if (this.#misses < maxMisses && item.startsWith("{")) this.#border = Buffer.from(`},${item.slice(0, headLength)}`);
  }

  /** Passes each item that this piece completes to `each`. If the run ends, returns the bytes that it did not use. */
  take(piece: Uint8Array, parse: ParseJson, each: (value: unknown) => void): Uint8Array {
    const scratch = this.#scratch;
    let searched = Math.max(0, scratch.length - this.#border.length);
    let from = 0;
    scratch.append(piece);
    for (let at = scratch.indexOf(this.#border, searched); at >= 0; at = scratch.indexOf(this.#border, searched)) {
      const value = at - from < maxItemLength ? jsonIn(scratch.text(from, at + 1), parse) : undefined;
      if (value === undefined) return this.#missed(from);
      each(value);
      from = searched = at + 2;
    }
    if (scratch.length - from > maxItemLength) return this.#missed(from);
    if (from > 0) scratch.drop(from);
    return nothing;
  }

  /** Ends the run and returns the bytes that it holds. */
  end(): Uint8Array {
    this.#border = nothing;
    return this.#scratch.taken();
  }

  #missed(from: number): Uint8Array {
    this.#misses++;
    this.#scratch.drop(from);
    return this.end();
  }
}

/** Parses JSON; undefined if the text is invalid. */
export function jsonIn(text: string, parse: ParseJson = JSON.parse): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
