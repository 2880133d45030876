import type { KubeObject } from "../api/meta.ts";
import { apiVersionOf, leases, type Resource } from "../api/resources.ts";
import { microTimestamp } from "../api/timestamps.ts";
import { type Clock, deadline, type Instant, type Millis } from "../base/clock.ts";
import { type LeaseTiming, trustedFor, writtenSeconds } from "../base/lease-timing.ts";
import { formatDuration } from "../base/time/duration.ts";
import { isNotFound } from "../client/api-error.ts";
import { TransportError } from "../client/transport/transport-error.ts";
import type { ObjectRef } from "../execution/actions.ts";
import type { Write, Writer } from "../execution/executor.ts";
import { leaseVersionOf, type ServerHistory } from "../informer/server-history.ts";
import { isManaged, type LeaseRecord, recordOf, renewalMark, successorAnnotation } from "./lease-record.ts";

/** The fields that a new holder writes. */
export interface LeaseClaim {
  readonly holder: string;
  readonly durationSeconds: number;
  readonly term: number;
}

/** The texts of annotations by name; null for one that the Lease must not have. */
export type CarriedTexts = Readonly<Record<string, string | null>>;

/**
 * The object that candidates compete for. Each write is based on a record, fails with a conflict if that record is no
 * longer the newest, and returns the written record. `guard` is called immediately before a write is sent.
 */
export interface LeaderLock {
  read(signal: AbortSignal): Promise<LeaseRecord | undefined>;
  create(claim: LeaseClaim, now: Instant, write: Write): Promise<LeaseRecord>;
  take(record: LeaseRecord, claim: LeaseClaim, now: Instant, write: Write): Promise<LeaseRecord>;
  /** `carried`: the annotations to write, or to remove if null, by name; others are left as they are. */
  renew(
    record: LeaseRecord,
    renewal: { readonly durationSeconds: number; readonly carried: CarriedTexts },
    now: Instant,
    write: Write,
  ): Promise<LeaseRecord>;
  /**
   * Removes the holder, so that no board needs to wait for the expiry. If a `successor` is named, the others let that
   * board claim first.
   */
  release(record: LeaseRecord, successor: string | undefined, now: Instant, write: Write): Promise<void>;
  /** A reference to the Lease, for Events. */
  about(record: LeaseRecord): ObjectRef;
}

/** The methods of KubeClient that the lock uses. */
export interface LeaseClient extends Pick<Writer, "create" | "patch"> {
  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { namespace?: string; name: string },
    signal: AbortSignal,
  ): Promise<T>;
}

/**
 * A coordination.k8s.io/v1 Lease. Renewals are merge patches of a few fields, answered with metadata only. The
 * `annotations` are written with every claim; if another writer changed them, a renewal restores them.
 */
export class LeaseLock implements LeaderLock {
  readonly #client: LeaseClient;
  readonly #at: { readonly namespace: string; readonly name: string };
  readonly #labels: Readonly<Record<string, string>>;
  readonly #annotations: Readonly<Record<string, string>>;
  readonly #history: Pick<ServerHistory, "observe" | "recordOwnWrite" | "doubts"> | undefined;

  constructor(deps: {
    readonly client: LeaseClient;
    readonly at: { readonly namespace: string; readonly name: string };
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    /**
     * Receives each state of the Lease that is read or written here. Throws if it shows that the server was restored.
     */
    readonly history?: Pick<ServerHistory, "observe" | "recordOwnWrite" | "doubts">;
  }) {
    this.#client = deps.client;
    this.#at = deps.at;
    this.#labels = deps.labels;
    this.#annotations = deps.annotations;
    this.#history = deps.history;
  }

  async read(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    try {
      const lease = await this.#client.get(leases, this.#at, signal);
      this.#history?.observe(leaseVersionOf(lease));
      return recordOf(lease);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async create(claim: LeaseClaim, now: Instant, write: Write): Promise<LeaseRecord> {
    const metadata = { ...this.#at, labels: this.#labels, annotations: this.#annotations };
    const lease = { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata, spec: claimed(claim, now) };
    const { doubts = 0 } = this.#history ?? {};
    const created = await this.#client.create(leases, this.#at.namespace, lease, write);
    this.#history?.recordOwnWrite(undefined, leaseVersionOf(created), doubts, now);
    return recordOf(created);
  }

  async take(record: LeaseRecord, claim: LeaseClaim, now: Instant, write: Write): Promise<LeaseRecord> {
    const { [successorAnnotation]: successor, ...left } = record.annotations;
    const ended = successor === undefined ? {} : { [successorAnnotation]: null };
    const metadata = { labels: this.#labels, annotations: { ...this.#annotations, ...ended } };
    const { holder, durationSeconds, term } = claim;
    const written = await this.#patch(record, { metadata, spec: claimed(claim, now) }, now, write);
    const annotations = { ...left, ...this.#annotations };
    const renewal = renewalMark(microTimestamp(now));
    const taken = { holder, durationSeconds, term, renewal, annotations, successor: undefined };
    return { ...record, ...written, ...taken };
  }

  async renew(
    record: LeaseRecord,
    { durationSeconds, carried }: { readonly durationSeconds: number; readonly carried: CarriedTexts },
    now: Instant,
    write: Write,
  ): Promise<LeaseRecord> {
    const renewTime = microTimestamp(now);
    const spec = { leaseDurationSeconds: durationSeconds, renewTime };
    // Unchanged annotations are not sent again, because renewals are most of an idle site's traffic.
    const changed = Object.entries({ ...this.#annotations, ...carried }).filter(
      ([name, text]) => (record.annotations[name] ?? null) !== text,
    );
    const annotations = Object.fromEntries(changed);
    const patch = changed.length > 0 ? { metadata: { annotations }, spec } : { spec };
    const patched = await this.#patch(record, patch, now, write);
    const written = { durationSeconds, renewal: renewalMark(renewTime) };
    const all = Object.entries({ ...record.annotations, ...annotations });
    const left = Object.fromEntries(all.flatMap(([name, text]) => (text === null ? [] : [[name, text]])));
    return { ...record, ...patched, ...written, annotations: left };
  }

  async release(record: LeaseRecord, successor: string | undefined, now: Instant, write: Write): Promise<void> {
    const time = microTimestamp(now);
    const spec = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: time, renewTime: time };
    const metadata = successor === undefined ? {} : { annotations: { [successorAnnotation]: successor } };
    await this.#patch(record, { metadata, spec }, now, write);
  }

  about({ uid, resourceVersion }: LeaseRecord): ObjectRef {
    return { resource: leases, ...this.#at, uid, resourceVersion };
  }

  async #patch(
    { uid, resourceVersion, managed }: LeaseRecord,
    patch: { readonly metadata?: object; readonly spec: object },
    now: Instant,
    write: Write,
  ): Promise<Pick<LeaseRecord, "uid" | "resourceVersion" | "managed">> {
    // managedFields are half of every answer. Writing a single empty entry removes them until a server-side apply adds
    // some again.
    const unmanaged = managed && { managedFields: [{}] };
    const body = { ...patch, metadata: { ...patch.metadata, ...unmanaged, uid, resourceVersion } };
    const { doubts = 0 } = this.#history ?? {};
    const { metadata } = await this.#client.patch(leases, this.#at, "merge", body, { ...write, metadataOnly: true });
    const witness = { uid: metadata.uid, version: metadata.resourceVersion, renewal: renewalMark(microTimestamp(now)) };
    this.#history?.recordOwnWrite(resourceVersion, witness, doubts, now);
    return { uid: metadata.uid, resourceVersion: metadata.resourceVersion, managed: isManaged(metadata) };
  }
}

const claimed = ({ holder, durationSeconds, term }: LeaseClaim, now: Instant): object => ({
  holderIdentity: holder,
  leaseDurationSeconds: durationSeconds,
  acquireTime: microTimestamp(now),
  renewTime: microTimestamp(now),
  leaseTransitions: term,
});

/** How long one request of a lock may take. A hanging request must not use up the whole renew deadline. */
export const maxRequestDuration = ({ renewDeadline }: LeaseTiming): Millis => Math.max(1000, renewDeadline / 2);

/**
 * How long a claim may wait for its answer: a late answer still wins a term if the term then lasts for at least another
 * `retry`. Even without an answer, the claim may have been written, and then keeps the other boards from leading.
 */
export const maxClaimDuration = (timing: LeaseTiming): Millis => {
  const { duration, renewDeadline, retry } = timing;
  return Math.max(maxRequestDuration(timing), Math.min(renewDeadline, trustedFor(writtenSeconds(duration))) - retry);
};

/** A signal that aborts with `parent`, or with a TransportError after `limit`. */
export const withTimeout = (clock: Clock, limit: Millis, parent: AbortSignal) =>
  deadline(clock, limit, parent, () => new TransportError("Timeout", `no response within ${formatDuration(limit)}`));
