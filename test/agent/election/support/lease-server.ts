import { leases } from "../../../../agent/api/resources.ts";
import { microTimestamp } from "../../../../agent/api/timestamps.ts";
import { type Clock, type Instant, type Millis, sleep } from "../../../../agent/base/clock.ts";
import { ApiError, type Verb } from "../../../../agent/client/api-error.ts";
import type { Claim, LeaderLock } from "../../../../agent/election/lease-lock.ts";
import type { LeaseRecord } from "../../../../agent/election/lease-rules.ts";
import { renewalMark } from "../../../../agent/election/own-writes.ts";

export interface Change {
  readonly at: Millis;
  readonly by: string;
  readonly what: "create" | "take" | "renew" | "release" | "delete" | "touch";
  readonly term: number | undefined;
}

/** One Lease in memory, with the conflicts that a real API server would report. */
export class LeaseServer {
  lease: LeaseRecord | undefined;
  readonly changes: Change[] = [];
  requests = 0;
  readonly #clock: Clock;
  #version = 0;
  #objects = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What somebody else writes: an operator, or another implementation. */
  put(lease: Partial<LeaseRecord> | undefined, by = "somebody"): void {
    if (lease === undefined) {
      this.lease = undefined;
      this.#note("delete", by);
      return;
    }
    const fresh = this.lease ?? { ...nobody, uid: `lease-${++this.#objects}` };
    this.#store({ ...fresh, ...lease }, "touch", by);
  }

  create(record: Omit<LeaseRecord, "uid" | "resourceVersion">, by: string): LeaseRecord {
    if (this.lease) throw refusal("create", 409, "AlreadyExists");
    return this.#store({ ...record, uid: `lease-${++this.#objects}`, resourceVersion: "" }, "create", by);
  }

  update(
    { uid, resourceVersion }: LeaseRecord,
    change: Partial<LeaseRecord>,
    what: Change["what"],
    by: string,
  ): LeaseRecord {
    if (!this.lease) throw refusal("patch", 404, "NotFound");
    if (this.lease.uid !== uid || this.lease.resourceVersion !== resourceVersion) {
      throw refusal("patch", 409, "Conflict");
    }
    return this.#store({ ...this.lease, ...change }, what, by);
  }

  #store(lease: LeaseRecord, what: Change["what"], by: string): LeaseRecord {
    this.lease = { ...lease, resourceVersion: String(++this.#version) };
    this.#note(what, by);
    return this.lease;
  }

  #note(what: Change["what"], by: string): void {
    this.changes.push({ at: this.#clock.now().mono, by, what, term: this.lease?.transitions });
  }
}

const nobody: LeaseRecord = {
  uid: "",
  resourceVersion: "",
  holder: "",
  durationSeconds: undefined,
  transitions: 0,
  renewal: undefined,
  annotations: {},
};

export const refusal = (verb: Verb, status: number, reason: string): ApiError =>
  new ApiError({ verb, target: "lease siteward" }, { status, reason, message: reason });

/** One board's way to the Lease: takes time, can be cut, and then answers nothing. */
export class LeaseLink implements LeaderLock {
  /** both: nothing arrives anywhere. answers: requests arrive, their answers do not. */
  cut: "both" | "answers" | undefined;
  latency: Millis;
  readonly #server: LeaseServer;
  readonly #clock: Clock;
  readonly #by: string;

  constructor(parts: { server: LeaseServer; clock: Clock; by: string; latency?: Millis }) {
    this.#server = parts.server;
    this.#clock = parts.clock;
    this.#by = parts.by;
    this.latency = parts.latency ?? 20;
  }

  read(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    return this.#exchange({ signal }, () => this.#server.lease);
  }

  create(claim: Claim, now: Instant, write: Write): Promise<LeaseRecord> {
    return this.#exchange(write, () => this.#server.create({ ...claimed(claim, now), annotations: {} }, this.#by));
  }

  take(record: LeaseRecord, claim: Claim, now: Instant, write: Write): Promise<LeaseRecord> {
    const change = { ...claimed(claim, now), successor: undefined };
    return this.#exchange(write, () => this.#server.update(record, change, "take", this.#by));
  }

  renew(
    record: LeaseRecord,
    { durationSeconds, carried }: { durationSeconds: number; carried: Readonly<Record<string, string>> },
    now: Instant,
    write: Write,
  ): Promise<LeaseRecord> {
    const written = { ...record.annotations, ...carried };
    const change = { durationSeconds, renewal: renewalOf(now), annotations: written };
    return this.#exchange(write, () => this.#server.update(record, change, "renew", this.#by));
  }

  async release(record: LeaseRecord, successor: string | undefined, _now: Instant, write: Write): Promise<void> {
    const change = { holder: "", durationSeconds: 1, successor };
    await this.#exchange(write, () => this.#server.update(record, change, "release", this.#by));
  }

  about({ uid }: LeaseRecord) {
    return { resource: leases, namespace: "kube-system", name: "siteward", uid };
  }

  async #exchange<T>({ signal, guard }: Write, work: () => T): Promise<T> {
    signal.throwIfAborted();
    guard?.();
    this.#server.requests++;
    await sleep(this.#clock, this.latency, signal);
    if (this.cut === "both") await never(signal);
    const answer = attempt(work);
    await sleep(this.#clock, this.latency, signal);
    if (this.cut) await never(signal);
    signal.throwIfAborted();
    return answer();
  }
}

interface Write {
  readonly signal: AbortSignal;
  readonly guard?: () => void;
}

const renewalOf = (now: Instant): number | undefined => renewalMark(microTimestamp(now));

const claimed = ({ holder, durationSeconds, term }: Claim, now: Instant) => ({
  holder,
  durationSeconds,
  transitions: term,
  renewal: renewalOf(now),
});

function attempt<T>(work: () => T): () => T {
  try {
    const answer = work();
    return () => answer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
