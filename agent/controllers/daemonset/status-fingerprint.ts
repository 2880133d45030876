import type { DaemonSet, Pod } from "../../api/core.ts";
import { compareVersions } from "../../api/resource-version.ts";
import type { Outcome } from "../../execution/actions.ts";
import type { Counts } from "./set-status.ts";

/** Fingerprint of a pass. If it is equal, at most the boards have changed since. */
export interface StatusFingerprint {
  /** resourceVersion of the set after our own status write. */
  readonly set: string;
  readonly hash: string;
  readonly pods: number;
  /** Newest resourceVersion of the pods: any change or new pod raises it. */
  readonly newest: string;
}

export const lookedAt = (set: DaemonSet, hash: string, pods: readonly Pod[]): StatusFingerprint => ({
  set: set.metadata.resourceVersion,
  hash,
  pods: pods.length,
  newest: pods.reduce((most, { metadata }) => later(most, metadata.resourceVersion), ""),
});

const later = (a: string, b: string): string => (compareVersions(a, b) < 0 ? b : a);

/** The fingerprint with the resourceVersion that our status write produced. */
export function withOwnWrite(looked: StatusFingerprint, outcomes: readonly Outcome[]): StatusFingerprint {
  const written = outcomes.find(({ action }) => action.do === "patch" && action.subresource === "status");
  return written?.ok && written.object ? { ...looked, set: written.object.metadata.resourceVersion } : looked;
}

/**
 * Whether the pass was triggered only by our own write. Changes of boards without a change of pods then appear in the
 * status with the next change of the set or its pods; as in kube-controller-manager, which receives its own write
 * before a board can change.
 */
export const isEcho = (
  before: StatusFingerprint | undefined,
  after: StatusFingerprint,
  { spec, status }: DaemonSet,
  { numberAvailable }: Counts,
): boolean =>
  before !== undefined &&
  before.set === after.set &&
  before.hash === after.hash &&
  before.pods === after.pods &&
  before.newest === after.newest &&
  (status?.numberMisscheduled ?? 0) === 0 &&
  // With minReadySeconds, pods become available by time alone.
  (!spec?.minReadySeconds || (status?.numberAvailable ?? 0) === numberAvailable);
