import type { Instant } from "../base/clock.ts";

/**
 * A silence that an earlier term of this process observed. It goes on as long as the board shows the same last sign of
 * life.
 */
export interface PastSilence {
  readonly uid: string;
  /** resourceVersion of the board's Lease; undefined if it had none. */
  readonly lease: string | undefined;
  /** The heartbeat time of the Ready condition, as text. */
  readonly heartbeat: string | undefined;
  readonly since: Instant;
}

export type PastSilences = ReadonlyMap<string, PastSilence>;

export const noPastSilences: PastSilences = new Map();

interface Silent {
  readonly uid: string;
  readonly probe: Instant;
  readonly silentFrom?: Instant | undefined;
  readonly lease: string | undefined;
  readonly answered: { readonly lease: string | undefined } | undefined;
  readonly ready: { readonly heartbeat: string | undefined } | undefined;
}

export const silenceOf = (health: Silent): PastSilence => ({
  uid: health.uid,
  lease: health.lease,
  heartbeat: health.ready?.heartbeat,
  since: silenceBegan(health),
});

/** When the board's silence began, perhaps in an earlier term of this process. */
export const silenceBegan = ({ silentFrom, probe }: Pick<Silent, "probe" | "silentFrom">): Instant =>
  silentFrom ?? probe;

/** Whether the past silence of a board that this term sees for the first time still goes on. */
export const hasContinued = ({ uid, lease, heartbeat }: PastSilence, seen: Silent): boolean => {
  const { answered = seen } = seen;
  return uid === seen.uid && lease === seen.lease && lease === answered.lease && heartbeat === seen.ready?.heartbeat;
};
