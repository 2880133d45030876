import type { IndexFunctions } from "../../storage/object.ts";
import type { Pod } from "../api/core.ts";
import { controllerOf } from "../api/owners.ts";

/**
 * Pods by board, by namespace and by the uid of the object that controls them. A pod that is not bound yet, or that
 * nobody controls, is under no value.
 */
export const podIndices: IndexFunctions<Pod> = {
  byNode: ({ spec }) => present(spec?.nodeName),
  byNamespace: ({ metadata }) => present(metadata.namespace),
  byOwner: (pod) => present(controllerOf(pod)?.uid),
};

const present = (value: string | undefined): readonly string[] => (value === undefined || value === "" ? [] : [value]);
