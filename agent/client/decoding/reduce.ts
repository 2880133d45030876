import * as signs from "../../base/json-signs.ts";

// Copied into constants of this module, because test runners turn each use of an import into a lookup, and the loops
// below use these millions of times.
const { backslash, closeList, closeObject, colon, comma, openList, openObject, quote } = signs;

/**
 * Selects the fields of an object that are kept. A field is kept as a whole, dropped, or reduced to the content that
 * another filter selects. In a list, that filter applies to each object; lists within lists are kept whole, so the
 * search never goes deeper than the filter.
 */
export type MemberFilter = (member: string) => boolean | MemberFilter;

/** Maximum number of kept stretches of text, to limit memory. */
const maxPieces = 100_000;

/**
 * The JSON text of an object without the members that are not kept, in linear time and without parsing it; undefined if
 * the text is malformed or has too many stretches. The dropped members are not checked.
 */
export const keepMembers = (text: string, kept: MemberFilter): string | undefined => new Reducer(text).all(kept);

/**
 * Like `keepMembers`, for a text that may be truncated anywhere: keeps its complete members, and adds the missing
 * brackets.
 */
export const reducedHead = (text: string, kept: MemberFilter): string | undefined => new Reducer(text).beginning(kept);

class Reducer {
  readonly #text: string;
  readonly #scalarEnd = /[,\]}\s]/g;
  readonly #pieces: string[] = [];
  /** Where the next kept stretch begins. */
  #from = 0;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  all(kept: MemberFilter): string | undefined {
    if (!this.#value(kept) || this.#pieces.length > maxPieces) return undefined;
    return this.#pieces.join("") + this.#text.slice(this.#from);
  }

  beginning(kept: MemberFilter): string | undefined {
    if (this.#value(kept)) this.#pieces.push(this.#text.slice(this.#from, this.#at));
    return this.#pieces.length > maxPieces ? undefined : this.#pieces.join("");
  }

  // Each of the following methods moves past a value, and returns whether the value is complete.

  #value(kept: MemberFilter): boolean {
    const sign = this.#sign();
    return sign === openObject ? this.#object(kept) : sign === openList ? this.#list(kept) : this.#skip();
  }

  #object(kept: MemberFilter): boolean {
    /** The position after the last kept member. */
    let end = ++this.#at;
    let hasKept = false;
    let hasDropped = false;
    for (let sign = this.#sign(); this.#pieces.length <= maxPieces; sign = this.#sign()) {
      if (sign === closeObject) {
        if (hasDropped) this.#cut(end, this.#at);
        this.#at++;
        return true;
      }
      if (sign === comma) {
        this.#at++;
        continue;
      }
      const begin = this.#at;
      if (sign !== quote || !this.#skip()) break;
      const inner = kept(this.#text.slice(begin + 1, this.#at - 1));
      if (this.#sign() !== colon) break;
      this.#at++;
      const isPart = typeof inner === "function" && this.#isContainer();
      if (isPart && hasDropped) this.#cut(end, begin, hasKept);
      if (!(isPart ? this.#value(inner) : this.#skip())) break;
      if (inner === false) {
        hasDropped = true;
        continue;
      }
      if (!isPart && hasDropped) this.#cut(end, begin, hasKept);
      end = this.#at;
      hasKept = true;
      hasDropped = false;
    }
    return this.#close(end, "}");
  }

  #list(kept: MemberFilter): boolean {
    let end = ++this.#at;
    for (let sign = this.#sign(); this.#pieces.length <= maxPieces; sign = this.#sign()) {
      if (sign === closeList) {
        this.#at++;
        return true;
      }
      if (sign === comma) this.#at++;
      else if (sign === openObject ? this.#object(kept) : this.#skip()) end = this.#at;
      else break;
    }
    return this.#close(end, "]");
  }

  /** Moves past a value that is kept or dropped as a whole. */
  #skip(): boolean {
    const sign = this.#sign();
    if (sign === quote) return this.#skipString();
    if (sign === openObject || sign === openList) return this.#skipContainer();
    const begin = this.#at;
    this.#scalarEnd.lastIndex = begin;
    if (!this.#scalarEnd.test(this.#text)) return false;
    this.#at = this.#scalarEnd.lastIndex - 1;
    return this.#at > begin;
  }

  #skipString(): boolean {
    const text = this.#text;
    for (let at = text.indexOf('"', this.#at + 1); at > 0; at = text.indexOf('"', at + 1)) {
      let escapes = at;
      while (text.charCodeAt(escapes - 1) === backslash) escapes--;
      if ((at - escapes) % 2 === 1) continue;
      this.#at = at + 1;
      return true;
    }
    return false;
  }

  #skipContainer(): boolean {
    const text = this.#text;
    for (let depth = 0; this.#at < text.length; ) {
      const sign = text.charCodeAt(this.#at);
      if (sign === quote) {
        if (!this.#skipString()) return false;
        continue;
      }
      this.#at++;
      if (sign === openObject || sign === openList) depth++;
      else if ((sign === closeObject || sign === closeList) && --depth === 0) return true;
    }
    return false;
  }

  #isContainer(): boolean {
    const sign = this.#sign();
    return sign === openObject || sign === openList;
  }

  /** Moves to the next character that is not blank, and returns it; NaN at the end. */
  #sign(): number {
    while (this.#text.charCodeAt(this.#at) <= 0x20) this.#at++;
    return this.#text.charCodeAt(this.#at);
  }

  /** Drops the text from `end` to `next`. */
  #cut(end: number, next: number, isFollowed = false): void {
    this.#pieces.push(this.#text.slice(this.#from, end));
    if (isFollowed) this.#pieces.push(",");
    this.#from = next;
  }

  /** Closes an incomplete object or list after its last complete member. */
  #close(end: number, sign: "}" | "]"): false {
    if (this.#from < end) this.#cut(end, this.#text.length);
    this.#pieces.push(sign);
    return false;
  }
}
