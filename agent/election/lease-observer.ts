import type { Ambient } from "../base/ambient.ts";
import { type Clock, deadline, type Instant, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { LeaseTiming } from "../base/lease-timing.ts";
import { isOvertaken } from "../client/api-error.ts";
import { TransportError } from "../client/transport-error.ts";
import {
  type Candidate,
  type LeaseRecord,
  type LeaseStep,
  nextLeaseStep,
  type Observation,
  observe,
} from "./lease-rules.ts";
import { OwnWrites } from "./own-writes.ts";

/** A candidate's view of the Lease, updated by each of its reads and writes. */
export class LeaseObserver {
  readonly #ambient: Ambient;
  readonly #candidate: Candidate;
  readonly #remember: (term: number) => void;
  readonly #own = new OwnWrites();
  #seen: Observation | undefined;
  #holderSince: Instant | undefined;

  /** `remember`: called with each term above all before, for later processes of this board. */
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

  /** Sends a write to the Lease. A write without an answer may have been applied all the same. */
  async write(began: Instant, send: () => Promise<LeaseRecord>): Promise<LeaseRecord> {
    this.#own.add(began);
    try {
      return await send();
    } catch (error) {
      if (isOvertaken(error)) this.#own.remove(began);
      throw error;
    }
  }

  /** Takes in the Lease as just read or written, and returns the next step. `leading`: this board holds a term. */
  take(record: LeaseRecord | undefined, leading: boolean): LeaseStep {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const before = this.#seen?.record;
    const known = this.#seen?.highestTerm ?? this.#candidate.formerTerm;
    const hadNamesake = this.#seen?.namesake ?? false;
    this.#seen = observe(this.#seen, record, this.#candidate, now, {
      leading,
      wrote: (renewal) => this.#own.has(renewal),
    });
    const { highestTerm, namesake } = this.#seen;
    if (namesake && !hadNamesake) {
      log.error("another process writes the Lease under our name", { identity: this.#candidate.identity });
    }
    if (highestTerm !== undefined && highestTerm !== known) this.#remember(highestTerm);
    if (before?.holder !== record?.holder || before?.transitions !== record?.transitions) {
      this.#holderSince = now;
      log.info("lease holder changed", { holder: record?.holder ?? "", term: record?.transitions });
    }
    return nextLeaseStep(this.#seen, this.#candidate, leading, now);
  }
}

/** How long one request may take, so that a hanging one cannot use up the whole renew deadline. */
export const patience = ({ renewDeadline }: LeaseTiming): Millis => Math.max(1000, renewDeadline / 2);

/** A signal for one exchange with the lock. */
export const within = (clock: Clock, limit: Millis, parent: AbortSignal) =>
  deadline(clock, limit, parent, () => new TransportError("Timeout", `no answer within ${formatDuration(limit)}`));
