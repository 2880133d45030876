import type { Lease } from "../api/core.ts";
import type { KubeObject } from "../api/meta.ts";
import { apiVersionOf, leases, type Resource } from "../api/resources.ts";
import { microTimestamp } from "../api/timestamps.ts";
import type { Instant } from "../base/clock.ts";
import { isNotFound } from "../client/api-error.ts";
import type { ObjectRef } from "../execution/actions.ts";
import type { Write, Writer } from "../execution/executor.ts";
import { type ServerHistory, witnessOf } from "../informer/server-history.ts";
import { isTerm, type LeaseRecord } from "./lease-rules.ts";
import { renewalMark } from "./own-writes.ts";

/** Annotation that carries the site's zone budgets from leader to leader. */
export const budgetAnnotation = "siteward.dev/budget";
/** Carries the operators' holds, likewise. */
export const holdsAnnotation = "siteward.dev/holds";
/** Carries the highest accepted number of each signing key, likewise. */
export const countersAnnotation = "siteward.dev/counters";
/** On a Lease that was released in favour of a board: the name of that board. */
export const successorAnnotation = "siteward.dev/successor";

/** Fields that a new holder writes. */
export interface Claim {
  readonly holder: string;
  readonly durationSeconds: number;
  readonly term: number;
}

/**
 * The object that candidates compete for. Each write builds on a record that was read, fails with a conflict if that is
 * no longer the newest, and returns the record as written. `guard` is called right before a write is sent.
 */
export interface LeaderLock {
  read(signal: AbortSignal): Promise<LeaseRecord | undefined>;
  create(claim: Claim, now: Instant, write: Write): Promise<LeaseRecord>;
  take(record: LeaseRecord, claim: Claim, now: Instant, write: Write): Promise<LeaseRecord>;
  /** `carried`: texts of the annotations to write; others are left as they are. */
  renew(
    record: LeaseRecord,
    renewal: { readonly durationSeconds: number; readonly carried: Readonly<Record<string, string>> },
    now: Instant,
    write: Write,
  ): Promise<LeaseRecord>;
  /** Gives the Lease up, so that nobody needs to wait for it; the others let `successor` go first, if there is one. */
  release(record: LeaseRecord, successor: string | undefined, now: Instant, write: Write): Promise<void>;
  /** Reference for Events. */
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
 * A coordination.k8s.io/v1 Lease. Renewals are merge patches of a few fields, answered with metadata only.
 * `annotations` are owned by us: written with every claim, and restored by a renewal after another writer changed them.
 */
export class LeaseLock implements LeaderLock {
  readonly #client: LeaseClient;
  readonly #at: { readonly namespace: string; readonly name: string };
  readonly #labels: Readonly<Record<string, string>>;
  readonly #annotations: Readonly<Record<string, string>>;
  readonly #history: Pick<ServerHistory, "saw" | "wrote" | "doubts"> | undefined;

  constructor(parts: {
    readonly client: LeaseClient;
    readonly at: { readonly namespace: string; readonly name: string };
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    /** Learns every version that is read or written here. Throws if it finds that the server was restored. */
    readonly history?: Pick<ServerHistory, "saw" | "wrote" | "doubts">;
  }) {
    this.#client = parts.client;
    this.#at = parts.at;
    this.#labels = parts.labels;
    this.#annotations = parts.annotations;
    this.#history = parts.history;
  }

  async read(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    try {
      const lease = await this.#client.get(leases, this.#at, signal);
      this.#history?.saw(witnessOf(lease));
      return recordOf(lease);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async create(claim: Claim, now: Instant, write: Write): Promise<LeaseRecord> {
    const metadata = { ...this.#at, labels: this.#labels, annotations: this.#annotations };
    const lease = { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata, spec: claimed(claim, now) };
    const { doubts = 0 } = this.#history ?? {};
    const created = await this.#client.create(leases, this.#at.namespace, lease, write);
    this.#history?.wrote(undefined, witnessOf(created), doubts);
    return recordOf(created);
  }

  async take(record: LeaseRecord, claim: Claim, now: Instant, write: Write): Promise<LeaseRecord> {
    const { [successorAnnotation]: successor, ...left } = record.annotations;
    const ended = successor === undefined ? {} : { [successorAnnotation]: null };
    const metadata = { labels: this.#labels, annotations: { ...this.#annotations, ...ended } };
    const { holder, durationSeconds, term } = claim;
    const written = await this.#patch(record, { metadata, spec: claimed(claim, now) }, now, write);
    const annotations = { ...left, ...this.#annotations };
    const renewal = renewalMark(microTimestamp(now));
    const taken = { holder, durationSeconds, transitions: term, renewal, annotations, successor: undefined };
    return { ...record, ...written, ...taken };
  }

  async renew(
    record: LeaseRecord,
    {
      durationSeconds,
      carried,
    }: { readonly durationSeconds: number; readonly carried: Readonly<Record<string, string>> },
    now: Instant,
    write: Write,
  ): Promise<LeaseRecord> {
    const renewTime = microTimestamp(now);
    const spec = { leaseDurationSeconds: durationSeconds, renewTime };
    // Unchanged annotations are not sent again: renewals are most of an idle site's traffic.
    const changed = Object.entries({ ...this.#annotations, ...carried }).filter(
      ([name, text]) => record.annotations[name] !== text,
    );
    const annotations = Object.fromEntries(changed);
    const patch = changed.length > 0 ? { metadata: { annotations }, spec } : { spec };
    const written = await this.#patch(record, patch, now, write);
    const told = { durationSeconds, renewal: renewalMark(renewTime) };
    return { ...record, ...written, ...told, annotations: { ...record.annotations, ...annotations } };
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
    // managedFields are half of every answer. One empty entry drops them, until somebody applies the Lease again.
    const unmanaged = managed && { managedFields: [{}] };
    const body = { ...patch, metadata: { ...patch.metadata, ...unmanaged, uid, resourceVersion } };
    const { doubts = 0 } = this.#history ?? {};
    const { metadata } = await this.#client.patch(leases, this.#at, "merge", body, { ...write, metadataOnly: true });
    const witness = { uid: metadata.uid, version: metadata.resourceVersion, renewal: renewalMark(microTimestamp(now)) };
    this.#history?.wrote(resourceVersion, witness, doubts);
    return { uid: metadata.uid, resourceVersion: metadata.resourceVersion, managed: isManaged(metadata) };
  }
}

const claimed = ({ holder, durationSeconds, term }: Claim, now: Instant): object => ({
  holderIdentity: holder,
  leaseDurationSeconds: durationSeconds,
  acquireTime: microTimestamp(now),
  renewTime: microTimestamp(now),
  leaseTransitions: term,
});

/** Parses a Lease that anybody may have written: without a spec, with a negative duration, with absurd transitions. */
export function recordOf({ metadata, spec }: Lease): LeaseRecord {
  const { holderIdentity, leaseDurationSeconds: duration, leaseTransitions: transitions } = spec ?? {};
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    durationSeconds: typeof duration === "number" && duration > 0 ? duration : undefined,
    transitions: isTerm(transitions) ? transitions : 0,
    renewal: renewalMark(spec?.renewTime),
    annotations: metadata.annotations ?? {},
    successor: metadata.annotations?.[successorAnnotation],
    managed: isManaged(metadata),
  };
}

const isManaged = ({ managedFields }: Lease["metadata"]): true | undefined =>
  (Array.isArray(managedFields) && managedFields.length > 0) || undefined;
