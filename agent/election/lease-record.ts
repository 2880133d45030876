import type { Lease } from "../api/core.ts";

/** Annotation of a Lease that was released in favour of a board: the name of that board. */
export const successorAnnotation = "siteward.dev/successor";

/** The Lease as read. Its values may be nonsense, because any client can write them. */
export interface LeaseRecord {
  readonly uid: string;
  readonly resourceVersion: string;
  /** The holder's identity; undefined if the Lease names none. */
  readonly holder: string | undefined;
  /** The Lease's duration; undefined if it is missing or not a positive number. */
  readonly durationSeconds: number | undefined;
  /** leaseTransitions: the number of the term. */
  readonly term: number;
  /** Identifies the latest renewal (see `renewalMark`); undefined if the Lease has no valid renewTime. */
  readonly renewal: number | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** The board in favour of which the last holder released the Lease; undefined if there is none. */
  readonly successor?: string | undefined;
  /** Whether the Lease has managedFields. */
  readonly managed?: true | undefined;
}

/** Parses a Lease of any origin: it may have no spec, a negative duration or absurd transitions. */
export function recordOf({ metadata, spec }: Lease): LeaseRecord {
  const { holderIdentity, leaseDurationSeconds: duration, leaseTransitions: transitions } = spec ?? {};
  return {
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    holder: typeof holderIdentity === "string" && holderIdentity !== "" ? holderIdentity : undefined,
    durationSeconds: typeof duration === "number" && duration > 0 ? duration : undefined,
    term: isTerm(transitions) ? transitions : 0,
    renewal: renewalMark(spec?.renewTime),
    annotations: metadata.annotations ?? {},
    successor: metadata.annotations?.[successorAnnotation],
    managed: isManaged(metadata),
  };
}

export const isManaged = ({ managedFields }: Lease["metadata"]): true | undefined =>
  (Array.isArray(managedFields) && managedFields.length > 0) || undefined;

/** The highest term, because leaseTransitions is an int32. A Lease can reach it only if it is edited by hand. */
export const maxTerm = 2 ** 31 - 2;

/** Whether an unchecked value is a valid term. */
export const isTerm = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxTerm;

/**
 * A number that identifies a renewal by its renewTime, regardless of its format; undefined if it is missing or invalid.
 */
export function renewalMark(renewTime: unknown): number | undefined {
  const mark = typeof renewTime === "string" ? Date.parse(renewTime) : Number.NaN;
  return Number.isNaN(mark) ? undefined : mark;
}
