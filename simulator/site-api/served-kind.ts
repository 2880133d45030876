import type { JsonObject } from "../../agent/api/json.ts";
import type { Column } from "./columns/column.ts";
import type { ApiObject } from "./objects/object.ts";
import type { Problem } from "./requests/problems.ts";

/** A kind of object that this server serves; each is one line of `served.ts`. */
export interface ServedKind extends Traits {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
}

/** How a kind differs from a plain one. */
export interface Traits {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /**
   * Whether the kind has a status subresource. It accepts only the status, and no other request changes the status.
   */
  readonly status?: boolean;
  /** Whether changes of the spec are counted in `metadata.generation`. */
  readonly generation?: boolean;
  /** Whether PUT creates a missing object. */
  readonly createOnUpdate?: boolean;
  /** Whether PUT must specify the resourceVersion that it replaces. */
  readonly versionedUpdate?: boolean;
  /** Whether DELETE responds with the object instead of a Status. */
  readonly returnsDeleted?: boolean;
  /** Grace period in seconds after a deletion request; undefined if there is none. */
  readonly gracePeriod?: (object: ApiObject, asked: number | undefined) => number;
  readonly names?: "subdomain" | "label";
  /** The fields that a field selector may name besides metadata.name and metadata.namespace. */
  readonly fields?: readonly SelectableField[];
  readonly columns?: readonly Column[];
  readonly rules?: Rules;
  /** True if no controller here acts on the kind, so that the response to a create carries a warning. */
  readonly inert?: boolean;
  /** The warning in the response to a create, if a controller that clusters usually have is missing. */
  readonly unattended?: string;
  /** Subresources other than status, with the verbs in their discovery entries. */
  readonly subresources?: readonly Subresource[];
}

/** A field that a selector may name. */
export interface SelectableField {
  readonly name: string;
  /** The field's path in the object, if that is not its name. */
  readonly path?: string;
  /** The field's value if the object lacks it; "" by default. */
  readonly absent?: string;
}

export interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

/** The inputs of admission. */
export interface Admission {
  /** The current time in the format of metadata. */
  readonly now: string;
  /** A lower bound of the write's revision; a number that no other write gets. */
  readonly revision: number;
}

/** The admission rules of a kind. All are pure. */
export interface Rules {
  /** A new object in the form to store: with defaults, and without fields that clients must not set. */
  readonly created?: (object: ApiObject, admission: Admission) => JsonObject;
  /** A changed object in the form to store. */
  readonly updated?: (object: ApiObject, before: ApiObject) => JsonObject;
  readonly problems?: (object: ApiObject, before: ApiObject | undefined) => readonly Problem[];
}

export const apiVersionOf = ({ group, version }: Pick<ServedKind, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;
