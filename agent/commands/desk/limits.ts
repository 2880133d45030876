import type { Clock } from "../../base/clock.ts";
import { isWritten, type Read, type Verified, verifySignature } from "./checks.ts";
import { commands } from "./definitions/registry.ts";
import type { Envelope } from "./envelope.ts";
import {
  admit,
  type DeskRates,
  freshDeskRates,
  mayCheck,
  mayRefuse,
  mayRepeat,
  type RateDecision,
  recordWastedCheck,
} from "./rate-limits.ts";
import { type Refusal, rejection } from "./refusal.ts";
import type { CommandRequest } from "./request.ts";
import { fingerprintOf } from "./signature.ts";
import type { Trust, TrustedKey } from "./trust.ts";

/** A refusal by row 10 of docs/interfaces.md#order-of-checks; not all of them are published. */
export interface Limited {
  readonly refusal: Refusal;
  readonly isAnswered: boolean;
}

/**
 * Counts commands of the fleet against the limits of row 10 of docs/interfaces.md#order-of-checks. Any client of the
 * broker can send commands in another's name, so signed changes are counted separately from all other commands, by key.
 */
export class CommandLimits {
  readonly #clock: Clock;
  #rates: DeskRates | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the refusal of a command that could not be read may be published. */
  mayRefuse(): boolean {
    const rates = this.#current;
    const [granted, unsigned] = mayRefuse(rates.unsigned, this.#clock.now());
    this.#rates = { ...rates, unsigned };
    return granted;
  }

  /** Whether the answer to a known command may be repeated. */
  mayRepeat(): boolean {
    const [granted, rates] = mayRepeat(this.#current, this.#clock.now());
    this.#rates = rates;
    return granted;
  }

  /**
   * Checks the signature of a change that names a trusted key, because its limits are then those of that key. Undefined
   * for other commands, whose limits do not depend on a signature. Once too many checks have been in vain, no signature
   * is checked.
   */
  signatureOf(request: CommandRequest, envelope: Envelope, trust: Trust): Verified | Limited | undefined {
    const definition = commands.get(envelope.name);
    const isChange = definition !== undefined && isWritten(definition, envelope);
    if (!isChange || !request.signature || !trust.keys.has(request.signature.kid)) return undefined;
    const now = this.#clock.now();
    const [next, rates] = mayCheck(this.#current, now);
    this.#rates = rates;
    if (next.is === "limited") return limitedBy(next);
    const signature = verifySignature(request, trust);
    if (signature.is !== "valid") this.#rates = recordWastedCheck(rates, now);
    return signature;
  }

  /** Counts a command that is not a signed change, by the author that it claims. Undefined if it is admitted. */
  ofUnsigned(issuer: string, envelope: Envelope): Limited | undefined {
    const definition = commands.get(envelope.name);
    const isMutating = definition !== undefined && isWritten(definition, envelope);
    const [admission, unsigned] = admit(this.#current.unsigned, { issuer, isMutating }, this.#clock.now());
    this.#rates = { ...this.#current, unsigned };
    return admission.is === "granted" ? undefined : limitedBy(admission);
  }

  /**
   * Counts a signed change after all other checks. A change takes from the allowance of its key only if it will be
   * accepted; acceptance uses up its id or counter, so a recording of it cannot take from that allowance again.
   * Undefined if the change is admitted, or its refusal may be published.
   */
  ofSigned(judged: Read | Refusal, { key }: TrustedKey): Limited | undefined {
    const now = this.#clock.now();
    const rates = this.#current;
    if ("error" in judged) {
      const [isAnswered, signed] = mayRefuse(rates.signed, now);
      this.#rates = recordWastedCheck({ ...rates, signed }, now);
      return isAnswered ? undefined : { refusal: judged, isAnswered };
    }
    const [admission, signed] = admit(rates.signed, { issuer: fingerprintOf(key), isMutating: true }, now);
    this.#rates = { ...rates, signed };
    if (admission.is === "granted") return undefined;
    this.#rates = recordWastedCheck(this.#rates, now);
    return limitedBy(admission);
  }

  get #current(): DeskRates {
    this.#rates ??= freshDeskRates(this.#clock.now());
    return this.#rates;
  }
}

const limitedBy = ({ retryAfter, isAnswered }: RateDecision & { readonly is: "limited" }): Limited => ({
  refusal: { ...rejection(429, "rate-limited", "too many commands"), retryAfterMs: retryAfter },
  isAnswered,
});
