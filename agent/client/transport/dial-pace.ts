import { type BackoffLimits, backoff } from "../../base/backoff.ts";
import { type Clock, type Instant, isAfter, shifted } from "../../base/clock.ts";
import { NoFurtherConnection, type TransportError } from "./transport-error.ts";

/** The pauses after unsuccessful dials, in ms. A TLS handshake costs 3 to 6 KB on a metered link. */
const pauses: BackoffLimits = { first: 5000, max: 60_000 };

/** The pauses between unsuccessful dials while another connection is open. */
export class DialPace {
  readonly #clock: Clock;
  #vain = 0;
  #why: NoFurtherConnection | undefined;
  #due: Instant | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True if the last dial was unsuccessful. */
  get isVain(): boolean {
    return this.#vain > 0;
  }

  /** Why the last dial was unsuccessful; undefined once the pause after it has passed. */
  get refusal(): NoFurtherConnection | undefined {
    return this.#due && isAfter(this.#due, this.#clock.now()) ? this.#why : undefined;
  }

  vain(why: TransportError): NoFurtherConnection {
    this.#due = shifted(this.#clock.now(), backoff(++this.#vain, pauses));
    this.#why = new NoFurtherConnection(why);
    return this.#why;
  }

  worked(): void {
    this.#vain = 0;
    this.#due = undefined;
    this.#why = undefined;
  }
}
