import type { MqttMessage } from "../mqtt/link.ts";

/** A message that is kept in memory until the broker has acknowledged it. */
export interface State extends MqttMessage {
  /** Called when the broker has acknowledged the document. */
  readonly delivered?: () => void;
  /** True for an answer that could not be stored, and is lost if the process ends. */
  readonly isUnwritten?: boolean;
}

/**
 * Documents to publish, by topic. A newer one replaces a pending one. They are kept only in memory, because an outdated
 * one must not be published; each is rebuilt on connecting.
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

  /** The broker has acknowledged a document. A newer document of the same topic stays pending. */
  done(state: State): void {
    if (this.#waiting.get(state.topic) === state) this.#waiting.delete(state.topic);
    state.delivered?.();
  }
}
