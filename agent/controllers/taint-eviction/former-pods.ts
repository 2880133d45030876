import type { Pod } from "../../api/core.ts";
import type { ObjectChange } from "../../loop/controller.ts";

/**
 * The pods that were on tainted boards when a term began. The running times of their boards' taints, as the previous
 * leader recorded them, apply to these pods. The time of a pod that arrives later starts with its arrival.
 */
export class FormerPods {
  readonly #uids = new Set<string>();

  /** Passes on the keys of a change, and notes its pod in the resync with which the term begins. */
  noteIn({ resync, after }: ObjectChange<Pod>, keys: readonly string[]): readonly string[] {
    if (resync === "first" && after && keys.length > 0) this.#uids.add(after.metadata.uid);
    return keys;
  }

  include({ metadata }: Pod): boolean {
    return this.#uids.has(metadata.uid);
  }
}
