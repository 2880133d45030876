import type { DaemonSet } from "../../api/core.ts";
import { heapWeight } from "../../base/heap-weight.ts";

/** A revision that was refused because it is too large. It consists of the set's template and annotations. */
export interface OversizedRevision {
  readonly generation: number | undefined;
  /** `heapWeight` of the set's annotations. */
  readonly annotations: number;
}

export const oversizedRevision = ({ metadata }: DaemonSet): OversizedRevision => ({
  generation: metadata.generation,
  annotations: heapWeight(metadata.annotations),
});

/**
 * Whether another attempt would be refused too, because the template is the same and the annotations are not smaller.
 */
export function isStillOversized(set: DaemonSet, refused: OversizedRevision): boolean {
  const { generation, annotations } = oversizedRevision(set);
  return generation === refused.generation && annotations >= refused.annotations;
}
