import type { LeaseVersion } from "../../../agent/informer/server-history.ts";

/** What a trail reads of the history of the server, set by hand. */
export class KnownHistory {
  readonly lease: string;
  chain = "c";
  losses = 0;
  isLossAnswered = true;
  readonly #byLosses = new Map<number, LeaseVersion>();

  constructor(known: LeaseVersion | undefined, lease = "a/b") {
    if (known) this.known = known;
    this.lease = lease;
  }

  get known(): LeaseVersion | undefined {
    return [...this.#byLosses.values()].at(-1);
  }

  /** A version requested since the last loss. */
  set known(version: LeaseVersion) {
    this.isLossAnswered = true;
    this.#byLosses.set(this.losses, version);
  }

  knownDuring(losses: number): LeaseVersion | undefined {
    return this.#byLosses.get(losses);
  }

  /** A connection is lost. */
  lose(): void {
    this.losses++;
    this.isLossAnswered = false;
  }
}
