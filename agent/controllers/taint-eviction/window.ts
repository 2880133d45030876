import type { Taint, Toleration } from "../../api/core.ts";
import { tolerates } from "../../api/taints.ts";
import type { Millis } from "../../base/clock.ts";

/** How long a pod may stay beside one taint. 0: it does not tolerate it. Infinity: for good. */
export interface Window {
  readonly taint: Taint;
  readonly length: Millis;
}

/**
 * The first toleration that matches a taint speaks for the pod, however much longer the others would let it stay. A
 * number of seconds that is none counts as absent: nothing is deleted because of what nobody can read.
 */
export function windowOf(taint: Taint, tolerations: readonly Toleration[] | undefined): Window {
  const matching = tolerations?.find((toleration) => tolerates(toleration, taint));
  if (matching === undefined) return { taint, length: 0 };
  const seconds = matching.tolerationSeconds;
  return { taint, length: Number.isFinite(seconds) ? Math.max(0, Number(seconds)) * 1000 : Number.POSITIVE_INFINITY };
}

/** No taint at all: as long as it likes. */
export const shortest = (windows: readonly Window[]): Millis =>
  windows.reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY);

/** Those that end some day. A pod's timer belongs to them: when others come and go its start stays. */
export const limited = (windows: readonly Window[]): readonly Window[] =>
  windows.filter(({ length }) => Number.isFinite(length));

/** Tells a taint from one of the same name that was added at another time. */
export const identityOf = ({ key, value, effect, timeAdded }: Taint): string =>
  `${key}=${value ?? ""}:${effect}@${timeAdded ?? ""}`;

export const keyOfIdentity = (identity: string): string => identity.slice(0, identity.indexOf("="));
