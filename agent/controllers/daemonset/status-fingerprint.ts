import type { DaemonSet, Pod } from "../../api/core.ts";
import { compareVersions } from "../../api/resource-version.ts";
import type { Outcome } from "../../execution/actions.ts";
import type { SetCounts } from "./set-status.ts";

/**
 * Identifies the state that a pass saw. If the fingerprints of two passes are equal, only boards can have changed in
 * between.
 */
export interface StatusFingerprint {
  /** resourceVersion of the set after our own status write. */
  readonly set: string;
  readonly hash: string;
  /** Number of pods. */
  readonly pods: number;
  /** Highest resourceVersion of the pods: any change or new pod raises it. */
  readonly newest: string;
}

export const fingerprintOf = (set: DaemonSet, hash: string, pods: readonly Pod[]): StatusFingerprint => ({
  set: set.metadata.resourceVersion,
  hash,
  pods: pods.length,
  newest: pods.reduce((most, { metadata }) => later(most, metadata.resourceVersion), ""),
});

const later = (a: string, b: string): string => (compareVersions(a, b) < 0 ? b : a);

/** The fingerprint with the resourceVersion that our status write produced. */
export function withOwnWrite(fingerprint: StatusFingerprint, outcomes: readonly Outcome[]): StatusFingerprint {
  const written = outcomes.find(({ action }) => action.do === "patch" && action.subresource === "status");
  return written?.ok && written.object ? { ...fingerprint, set: written.object.metadata.resourceVersion } : fingerprint;
}

/**
 * Whether only our own status write triggered this pass; the status is then not written again. Changes of boards alone
 * therefore appear in the status with the next change of the set or its pods, as in kube-controller-manager.
 */
export const isEcho = (
  before: StatusFingerprint | undefined,
  after: StatusFingerprint,
  { spec, status }: DaemonSet,
  { numberAvailable }: SetCounts,
): boolean =>
  before !== undefined &&
  before.set === after.set &&
  before.hash === after.hash &&
  before.pods === after.pods &&
  before.newest === after.newest &&
  (status?.numberMisscheduled ?? 0) === 0 &&
  // With minReadySeconds, pods become available by time alone.
  (!spec?.minReadySeconds || (status?.numberAvailable ?? 0) === numberAvailable);
