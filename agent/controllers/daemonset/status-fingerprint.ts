import type { DaemonSet, Pod } from "../../api/core.ts";
import { compareVersions } from "../../api/resource-version.ts";
import type { Outcome } from "../../execution/actions.ts";
import type { Counts } from "./set-status.ts";

/** What a pass found. The same again: nothing has changed since but the boards. */
export interface StatusFingerprint {
  /** The resourceVersion of the set, after our own write of its status. */
  readonly set: string;
  readonly hash: string;
  readonly pods: number;
  /** The newest resourceVersion among them: one that changes, or comes, has a newer one. */
  readonly newest: string;
}

export const lookedAt = (set: DaemonSet, hash: string, pods: readonly Pod[]): StatusFingerprint => ({
  set: set.metadata.resourceVersion,
  hash,
  pods: pods.length,
  newest: pods.reduce((most, { metadata }) => later(most, metadata.resourceVersion), ""),
});

const later = (a: string, b: string): string => (compareVersions(a, b) < 0 ? b : a);

/** With the version that our write of the status gave to the set. */
export function withOwnWrite(looked: StatusFingerprint, outcomes: readonly Outcome[]): StatusFingerprint {
  const written = outcomes.find(({ action }) => action.do === "patch" && action.subresource === "status");
  return written?.ok && written.object ? { ...looked, set: written.object.metadata.resourceVersion } : looked;
}

/**
 * Whether a pass was woken by no more than the echo of our own write. What changed about boards meanwhile, without a pod
 * coming or going, shows in the status with the next change of the set or of its pods: as in kube-controller-manager,
 * which hears its echo before a board can change.
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
  // With minReadySeconds time alone makes pods available.
  (!spec?.minReadySeconds || (status?.numberAvailable ?? 0) === numberAvailable);
