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

/** Zone budgets of the site travel from leader to leader in this annotation. */
export const budgetAnnotation = "siteward.dev/budget";
/** What operators hold back, likewise. */
export const holdsAnnotation = "siteward.dev/holds";
/** The highest number that was accepted of each signing key, likewise. */
export const countersAnnotation = "siteward.dev/counters";
/** On a Lease that was given back in favour of somebody: the board that shall have it. */
export const successorAnnotation = "siteward.dev/successor";

/** What a winner writes. */
export interface Claim {
  readonly holder: string;
  readonly durationSeconds: number;
  readonly term: number;
}

/**
 * Where candidates meet. Each write builds on a record that was read and fails with a conflict where it is no longer the
 * newest; the answer is the record as it stands then. A write's `guard` is asked right before it is sent.
 */
export interface LeaderLock {
  read(signal: AbortSignal): Promise<LeaseRecord | undefined>;
  create(claim: Claim, now: Instant, write: Write): Promise<LeaseRecord>;
  take(record: LeaseRecord, claim: Claim, now: Instant, write: Write): Promise<LeaseRecord>;
  /** `carried`: what is to stand in these annotations; others are left as they are. */
  renew(
    record: LeaseRecord,
    renewal: { readonly durationSeconds: number; readonly carried: Readonly<Record<string, string>> },
    now: Instant,
    write: Write,
  ): Promise<LeaseRecord>;
  /** Nobody holds it any more, and nobody needs to wait; the others let `successor` go first, where there is one. */
  release(record: LeaseRecord, successor: string | undefined, now: Instant, write: Write): Promise<void>;
  /** For Events. */
  about(record: LeaseRecord): ObjectRef;
}

/** What the lock calls of a KubeClient. */
export interface LeaseClient extends Pick<Writer, "create" | "patch"> {
  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { namespace?: string; name: string },
    signal: AbortSignal,
  ): Promise<T>;
}

/**
 * A coordination.k8s.io/v1 Lease. Renewals are merge patches of a few fields, answered with metadata only. `annotations`
 * are ours to keep there: written with every claim, and again by a renewal where somebody changed them.
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
    /** Learns every version that is read or written here. It may find out that the server was restored: then this throws. */
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
    // What stands there already is not sent again: renewals are most of an idle site's traffic.
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
    // The notes are half of what every look at the Lease brings. One empty entry ends them, until somebody applies it.
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

/** Reads a Lease that anybody may have written: without a spec, with a negative duration, with absurd transitions. */
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
