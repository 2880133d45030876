import { Scratch } from "./scratch.ts";

/**
 * Bytes of an item's beginning that the search compares, after the separator; enough to tell items from their content.
 */
const headLength = 16;
/** An item longer than this, in bytes, is not handled here. */
const longestItem = 131_072;
/** After this many wrong guesses the items are not alike enough, and guessing stops. */
const mostMisses = 100;

const nothing = Buffer.alloc(0);

/**
 * A run of items of one list that begin alike, as servers write them. The end of one is found by searching for the
 * beginning of the next, which is many times faster than reading each byte.
 *
 * The search only guesses; the proof is that the text before it parses. An object ends where its text is complete and
 * nowhere else, so a parsed text has no other end. If it does not parse (the match lies inside the item, or the item is
 * broken), the run is over and its bytes go back to the byte-wise reader.
 */
export class ItemRun {
  readonly #scratch = new Scratch();
  #border: Buffer = nothing;
  #misses = 0;

  /** True while it takes the next bytes; once false, all bytes that it held were returned. */
  get isOpen(): boolean {
    return this.#border.length > 0;
  }

  /** Begins after the comma behind an item with this text. */
  begin(item: string): void {
    if (this.#misses < mostMisses && item.startsWith("{")) this.#border = Buffer.from(`},${item.slice(0, headLength)}`);
  }

  /** Emits the objects that this piece completes. Returns the bytes that are not for the run, which then is over. */
  take(piece: Uint8Array, each: (value: unknown) => void): Uint8Array {
    const scratch = this.#scratch;
    let searched = Math.max(0, scratch.length - this.#border.length);
    let from = 0;
    scratch.append(piece);
    for (let at = scratch.indexOf(this.#border, searched); at >= 0; at = scratch.indexOf(this.#border, searched)) {
      const value = at - from < longestItem ? jsonIn(scratch.text(from, at + 1)) : undefined;
      if (value === undefined) return this.#missed(from);
      each(value);
      from = searched = at + 2;
    }
    if (scratch.length - from > longestItem) return this.#missed(from);
    if (from > 0) scratch.drop(from);
    return nothing;
  }

  /** Ends the run; returns the bytes that it held. */
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

/** The value of a whole JSON text; undefined if it is not one. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
