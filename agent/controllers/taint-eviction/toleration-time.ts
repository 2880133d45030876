import type { Taint, Toleration } from "../../api/core.ts";
import { tolerates } from "../../api/taints.ts";
import type { Millis } from "../../base/clock.ts";

/**
 * How long a pod may stay on a board with this taint. 0 if it does not tolerate the taint; Infinity if it stays
 * permanently.
 */
export interface TolerationTime {
  readonly taint: Taint;
  readonly length: Millis;
}

/**
 * The window for a taint. The first matching toleration decides, even if a later one allows a longer stay. An
 * unparsable tolerationSeconds counts as absent, so that no pod is evicted because of a value that we cannot parse.
 */
export function tolerationTimeFor(taint: Taint, tolerations: readonly Toleration[] | undefined): TolerationTime {
  const matching = firstFor(taint, tolerations);
  if (matching === undefined) return { taint, length: 0 };
  const seconds = matching.tolerationSeconds;
  return { taint, length: Number.isFinite(seconds) ? Math.max(0, Number(seconds)) * 1000 : Number.POSITIVE_INFINITY };
}

/** The first matching toleration for each taint, in the pod's order; the others change no window. */
export function firstMatchingTolerations(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[],
): readonly Toleration[] {
  const first = new Set(taints.map((taint) => firstFor(taint, tolerations)));
  return tolerations?.filter((toleration) => first.has(toleration)) ?? [];
}

const firstFor = (taint: Taint, tolerations: readonly Toleration[] | undefined): Toleration | undefined =>
  tolerations?.find((toleration) => tolerates(toleration, taint));

/** The length of the shortest window; Infinity if there is none. */
export const minLength = (windows: readonly TolerationTime[]): Millis =>
  windows.reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY);

/** The windows that end. A pod's timer belongs to these; windows without an end do not affect its start. */
export const finiteTimes = (windows: readonly TolerationTime[]): readonly TolerationTime[] =>
  windows.filter(({ length }) => Number.isFinite(length));

/** Identifies a taint, even among taints with the same name that were added at other times. */
export const identityOf = ({ key, value, effect, timeAdded }: Taint): string =>
  `${key}=${value ?? ""}:${effect}@${timeAdded ?? ""}`;

/** Whether the taint with this identity had a timeAdded. */
export const isDated = (identity: string): boolean => !identity.endsWith("@");

export const keyOfIdentity = (identity: string): string => identity.slice(0, identity.indexOf("="));
