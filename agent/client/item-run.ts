import { Scratch } from "./scratch.ts";

/** What comes between two items, and how the second one begins: so much of the beginning tells items from what is in them. */
const headLength = 16;
/** An item that does not end within so many bytes is not waited for. */
const longestItem = 131_072;
/** After so many wrong guesses this is no list whose items are alike, and nothing is guessed any more. */
const mostMisses = 100;

const nothing = Buffer.alloc(0);

/**
 * A run of items of one list that begin alike, as servers write them. Where one ends is found by a search for the
 * beginning of the next, which is many times quicker than to look at each byte.
 *
 * The search only guesses; that the text before it parses is the proof. An object ends where its text is complete and
 * nowhere else, so no other end is possible for what parsed. Where it does not parse (what was found lies inside the
 * item, or the item is broken) the run is over, and its bytes are for somebody who looks closer.
 */
export class ItemRun {
  readonly #scratch = new Scratch();
  #border: Buffer = nothing;
  #misses = 0;

  /** It takes what comes next; where not, all that it held was handed back. */
  get isOpen(): boolean {
    return this.#border.length > 0;
  }

  /** Begins behind the comma that follows an item, of which this is the text. */
  begin(item: string): void {
    if (this.#misses < mostMisses && item.startsWith("{")) this.#border = Buffer.from(`},${item.slice(0, headLength)}`);
  }

  /** Hands out the objects that this piece completes, and answers with what is not for the run: then it is over. */
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

  /** The run is over; answers with what it held. */
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

/** The value of a whole JSON text; undefined: it is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
