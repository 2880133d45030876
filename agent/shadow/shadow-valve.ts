import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { ActLimits } from "../holds/act-limit.ts";
import { ValveBook } from "../holds/valve-book.ts";

/**
 * The safety valve of shadowed controllers. It follows the same rules with the acts that they would have done, apart from
 * the site's valve: its count is kept in this process instead of on the Lease, and ends with it.
 */
export class ShadowValve {
  readonly #ambient: Ambient;
  readonly #book: ValveBook;
  /** The count at the end of this board's last term. */
  #kept: { readonly text: string | undefined; readonly at: Instant } | undefined;

  constructor(ambient: Ambient) {
    this.#ambient = ambient;
    this.#book = new ValveBook(ambient, {
      memory: { read: () => undefined, write: () => {}, wasRestored: false },
      publish: async () => {},
      changed: () => {},
    });
  }

  begin(): void {
    const written = this.#kept?.at ?? this.#ambient.clock.now();
    // Always a first term: no annotation could say what other processes have only pretended.
    this.#book.begin(this.#kept?.text, { lease: "", written }, true);
  }

  end(): void {
    this.#kept = { text: this.#book.carried(), at: this.#ambient.clock.now() };
    this.#book.end();
  }

  admit(act: string, limits: ActLimits, namespace?: string): ReturnType<ValveBook["admit"]> {
    return this.#book.admit(act, limits, namespace);
  }

  view(limits: ActLimits, now: Instant, namespace?: string): ReturnType<ValveBook["view"]> {
    return this.#book.view(limits, now, namespace);
  }
}
