import type { Answer } from "./request.ts";

/**
 * Pending answers to one or more commands, for a single reader. A newer answer replaces a pending intermediate answer
 * to the same command; terminal answers are never dropped.
 */
export class AnswerStream implements AsyncIterable<Answer> {
  readonly #waiting: Answer[] = [];
  #wake: (() => void) | undefined;
  #isOver = false;

  push(answer: Answer): void {
    if (this.#isOver) return;
    const overtaken = this.#waiting.findIndex(({ id, isTerminal }) => id === answer.id && !isTerminal);
    if (overtaken >= 0) this.#waiting.splice(overtaken, 1);
    this.#waiting.push(answer);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Answer> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) yield next;
      else if (this.#isOver) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }
}
