/** Objects that could not be used: how many, and why the last few, so that a person can find them. */
export interface Rejected {
  readonly count: number;
  readonly last: readonly string[];
}

const kept = 5;
const longest = 300;

export class Rejections {
  #count = 0;
  readonly #last: string[] = [];

  /** `why` may name fewer than there were. */
  add(why: readonly string[], count = why.length): void {
    this.#count += count;
    for (const text of why) this.#last.push(text.length > longest ? `${text.slice(0, longest)}…` : text);
    this.#last.splice(0, Math.max(0, this.#last.length - kept));
  }

  get seen(): Rejected {
    return { count: this.#count, last: [...this.#last] };
  }
}
