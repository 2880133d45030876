import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { sentenceOf } from "../base/errors.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { type Desired, parseDesired } from "./desired.ts";

export type Received = Exclude<Desired, { readonly kind: "nothing" }>;

/** A document that is not persisted yet; it has no effect until it is. */
export interface Unstored {
  readonly payload: Uint8Array;
  readonly version: number | undefined;
  readonly hash: string;
  readonly why: string;
}

/** Backoff for writes that the disk refused. */
export const storeAgain = { first: 5000, most: 300_000 } as const;

/** Receives documents from config/desired. A full disk does not end the connection; the document is retried. */
export class DesiredIntake {
  readonly #ambient: Ambient;
  readonly #receive: (desired: Received) => void;
  readonly #bell: WakeSignal;
  #unstored: Unstored | undefined;

  /** `receive` throws if the result of a document cannot be persisted. */
  constructor(ambient: Ambient, { receive }: { readonly receive: (desired: Received) => void }) {
    this.#ambient = ambient;
    this.#receive = receive;
    this.#bell = new WakeSignal(ambient.clock);
  }

  get unstored(): Unstored | undefined {
    return this.#unstored;
  }

  take(payload: Uint8Array): void {
    if (!this.#isTaken(payload)) this.#bell.ring();
  }

  /** Retries until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const { payload } = this.#unstored ?? {};
      failures = payload ? failures + 1 : 0;
      await this.#bell.wait(signal, payload && backoff(failures, storeAgain));
      // A newer document was tried when it arrived.
      if (!signal.aborted && payload && this.#unstored?.payload === payload) this.#isTaken(payload);
    }
  }

  #isTaken(payload: Uint8Array): boolean {
    const desired = parseDesired(payload);
    if (desired.kind === "nothing") return true;
    const { version, hash } = desired.kind === "document" ? desired.document : desired;
    if (version !== undefined && version < (this.#unstored?.version ?? 0)) return true;
    try {
      this.#receive(desired);
      this.#unstored = undefined;
      return true;
    } catch (error) {
      if (this.#unstored === undefined) this.#ambient.log.warn("settings of the fleet cannot be stored", { error });
      this.#unstored = { payload, version, hash, why: sentenceOf(error) };
      return false;
    }
  }
}
