import type { Message } from "./link.ts";

export interface State extends Message {
  /** Called when the broker has acknowledged. */
  readonly delivered?: () => void;
  /** Not on disk: lost if the process ends. */
  readonly isUnwritten?: boolean;
}

/**
 * Documents to publish, by topic: a newer one replaces one still pending. In memory only: a state must not be published
 * once outdated, and each is rebuilt on connecting.
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

  /** Acknowledged by the broker; a newer document stays pending. */
  done(state: State): void {
    if (this.#waiting.get(state.topic) === state) this.#waiting.delete(state.topic);
    state.delivered?.();
  }
}
