import type { Message } from "./link.ts";

export interface State extends Message {
  /** The broker has it. */
  readonly delivered?: () => void;
  /** No disk took it: with this life it would be gone. */
  readonly isUnwritten?: boolean;
}

/**
 * What is to be true at the broker, by topic: the newest document replaces one that still waits. In memory alone: what was
 * true yesterday must not be told today, and each is made anew when a connection is up.
 */
export class States {
  readonly #waiting = new Map<string, State>();

  get size(): number {
    return this.#waiting.size;
  }

  put(state: State): void {
    this.#waiting.set(state.topic, state);
  }

  forget(topic: string): void {
    this.#waiting.delete(topic);
  }

  list(): Iterable<State> {
    return this.#waiting.values();
  }

  /** It is with the broker, unless there is a newer one meanwhile. */
  done(state: State): void {
    if (this.#waiting.get(state.topic) === state) this.#waiting.delete(state.topic);
    state.delivered?.();
  }
}
