/** Unusable objects: their number, and the last few reasons, so that an operator can find them. */
export interface Rejected {
  readonly count: number;
  readonly last: readonly string[];
}

const kept = 5;
const longest = 300;

export class Rejections {
  #count = 0;
  readonly #last: string[] = [];

  /** `why` may hold fewer reasons than `count`. */
  add(why: readonly string[], count = why.length): void {
    this.#count += count;
    for (const text of why) this.#last.push(text.length > longest ? `${text.slice(0, longest)}…` : text);
    this.#last.splice(0, Math.max(0, this.#last.length - kept));
  }

  get seen(): Rejected {
    return { count: this.#count, last: [...this.#last] };
  }
}
