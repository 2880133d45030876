import type { Ambient } from "../../base/ambient.ts";
import { backoff } from "../../base/backoff.ts";
import { WakeSignal } from "../../base/concurrency/wake-signal.ts";
import { sentenceOf } from "../../base/errors.ts";
import type { Fault } from "../../config/remote-record.ts";
import { type Desired, type DesiredMessage, parseDesired } from "./desired.ts";

/** A parsed document. `refusal`: why it is refused for a bad or missing signature; undefined if it is not. */
export type ReceivedDesired = Exclude<Desired, { readonly kind: "nothing" }> & { readonly refusal: Fault | undefined };

/** A document whose result could not be stored yet. It does not take effect until the result is stored. */
export interface Unstored {
  readonly message: DesiredMessage;
  /** Undefined if the document is malformed and its version cannot be read. */
  readonly version: number | undefined;
  readonly hash: string;
  /** Why the result could not be stored. */
  readonly why: string;
}

/** Backoff between attempts to store a result, in milliseconds. */
export const storeAgain = { first: 5000, max: 300_000 } as const;

/** Receives documents of config/desired. While the disk is full, the newest document is kept in memory and retried. */
export class DesiredIntake {
  readonly #ambient: Ambient;
  readonly #receive: (desired: ReceivedDesired) => void;
  readonly #bell: WakeSignal;
  #unstored: Unstored | undefined;

  /** `receive` throws if the result of a document cannot be persisted. */
  constructor(ambient: Ambient, { receive }: { readonly receive: (desired: ReceivedDesired) => void }) {
    this.#ambient = ambient;
    this.#receive = receive;
    this.#bell = new WakeSignal(ambient.clock);
  }

  get unstored(): Unstored | undefined {
    return this.#unstored;
  }

  take(message: DesiredMessage): void {
    if (!this.#process(message)) this.#bell.ring();
  }

  /** Retries until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const { message } = this.#unstored ?? {};
      failures = message ? failures + 1 : 0;
      await this.#bell.wait(signal, message && backoff(failures, storeAgain));
      // A newer document that arrived in the meantime was processed on arrival.
      if (!signal.aborted && message && this.#unstored?.message === message) this.#process(message);
    }
  }

  /** Returns whether the document needs no further handling: it is stored or irrelevant. */
  #process(message: DesiredMessage): boolean {
    const desired = parseDesired(message.payload);
    if (desired.kind === "nothing") return true;
    const { version, hash } = desired.kind === "document" ? desired.document : desired;
    if (version !== undefined && version < (this.#unstored?.version ?? 0)) return true;
    try {
      this.#receive({ ...desired, refusal: message.refusal });
      this.#unstored = undefined;
      return true;
    } catch (error) {
      if (this.#unstored === undefined) this.#ambient.log.warn("the fleet's settings cannot be stored", { error });
      this.#unstored = { message, version, hash, why: sentenceOf(error) };
      return false;
    }
  }
}
