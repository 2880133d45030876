import type { Ambient } from "../base/ambient.ts";
import { type Clock, deadline, type Instant, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { TransportError } from "../client/transport-error.ts";
import {
  type Candidate,
  type LeaseRecord,
  type LeaseStep,
  type LeaseTiming,
  nextLeaseStep,
  type Observation,
  observe,
} from "./lease-rules.ts";

/** What a candidate knows of the Lease: brought up to date by every look and every write of its own. */
export class LeaseSight {
  readonly #ambient: Ambient;
  readonly #candidate: Candidate;
  readonly #remember: (term: number) => void;
  #seen: Observation | undefined;
  #holderSince: Instant | undefined;

  /** `remember`: is told each term that is higher than all before, for the processes of this board that come after us. */
  constructor(
    ambient: Ambient,
    { candidate, remember }: { readonly candidate: Candidate; readonly remember: (term: number) => void },
  ) {
    this.#ambient = ambient;
    this.#candidate = candidate;
    this.#remember = remember;
  }

  get seen(): Observation | undefined {
    return this.#seen;
  }

  /** When we first saw the present holder. */
  get holderSince(): Instant | undefined {
    return this.#holderSince;
  }

  /** Takes in the Lease as it was just read or written, and says what follows. `leading`: we hold a term. */
  take(record: LeaseRecord | undefined, leading: boolean): LeaseStep {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const before = this.#seen?.record;
    const known = this.#seen?.highestTerm ?? this.#candidate.formerTerm;
    this.#seen = observe(this.#seen, record, this.#candidate, now);
    const { highestTerm } = this.#seen;
    if (highestTerm !== undefined && highestTerm !== known) this.#remember(highestTerm);
    if (before?.holder !== record?.holder || before?.transitions !== record?.transitions) {
      this.#holderSince = now;
      log.info("lease holder changed", { holder: record?.holder ?? "", term: record?.transitions });
    }
    return nextLeaseStep(this.#seen, this.#candidate, leading, now);
  }
}

/** How long one request may take, so that a single one that hangs cannot use up the whole deadline. */
export const patience = ({ renewDeadline }: LeaseTiming): Millis => Math.max(1000, renewDeadline / 2);

/** A signal for one exchange with the lock. */
export const within = (clock: Clock, limit: Millis, parent: AbortSignal) =>
  deadline(clock, limit, parent, () => new TransportError("Timeout", `no answer within ${formatDuration(limit)}`));
