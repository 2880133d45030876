import type { Verb } from "./api-error.ts";

/** Traffic since the process started. Headers and TLS are not included. */
export interface TrafficCount {
  readonly requests: number;
  /** Bytes of request paths and bodies. */
  readonly up: number;
  /** Bytes of response bodies as received, before decompression. */
  readonly down: number;
}

export interface TrafficRow extends TrafficCount {
  readonly resource: string;
  readonly verb: Verb;
}

interface Counter {
  readonly resource: string;
  readonly verb: Verb;
  requests: number;
  up: number;
  down: number;
}

/**
 * Counts traffic by resource and verb. `HttpTransport.bytes` has the totals of the connection, with headers and TLS.
 */
export class Traffic {
  readonly #counters = new Map<string, Counter>();

  sent(resource: string, verb: Verb, bytes: number): void {
    const counter = this.#counter(resource, verb);
    counter.requests++;
    counter.up += bytes;
  }

  received(resource: string, verb: Verb, bytes: number): void {
    this.#counter(resource, verb).down += bytes;
  }

  snapshot(): readonly TrafficRow[] {
    return [...this.#counters.values()].map((counter) => ({ ...counter }));
  }

  #counter(resource: string, verb: Verb): Counter {
    const key = `${verb} ${resource}`;
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      counter = { resource, verb, requests: 0, up: 0, down: 0 };
      this.#counters.set(key, counter);
    }
    return counter;
  }
}
