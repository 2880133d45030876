import type { JsonObject } from "../../agent/api/json.ts";
import type { Column } from "./columns/column.ts";
import type { ApiObject } from "./object.ts";
import type { Problem } from "./problems.ts";

/** A kind of object that this server serves. One line of `served.ts` each. */
export interface ServedKind extends Traits {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
}

/** In what a kind differs from the plainest one. */
export interface Traits {
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Status is written through its own subresource, and everything else is not. */
  readonly status?: boolean;
  /** Changes of what is wished for are counted in `metadata.generation`. */
  readonly generation?: boolean;
  /** PUT creates what is not there. */
  readonly createOnUpdate?: boolean;
  /** PUT must say which resourceVersion it replaces. */
  readonly versionedUpdate?: boolean;
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeleted?: boolean;
  /** How many seconds an object may still go on once its deletion is asked for; without: none. */
  readonly gracePeriod?: (object: ApiObject, asked: number | undefined) => number;
  readonly names?: "subdomain" | "label";
  /** What a field selector may name besides metadata.name and metadata.namespace. */
  readonly fields?: readonly SelectableField[];
  readonly columns?: readonly Column[];
  readonly rules?: Rules;
  /** What it is for does not happen here. Whoever creates one is told so. */
  readonly inert?: boolean;
  /** What whoever creates one is told, where something is missing that usually looks after it. */
  readonly unattended?: string;
  /** Subresources besides status, with the verbs of their discovery entry. */
  readonly subresources?: readonly Subresource[];
}

/** A field that a selector may name. */
export interface SelectableField {
  readonly name: string;
  /** Where an object has it, if that is not its name. */
  readonly path?: string;
  /** As what it reads where an object does not have it, if that is not "". */
  readonly absent?: string;
}

export interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
}

/** What is at hand when an object is admitted. */
export interface Admission {
  /** Now, as metadata shows it. */
  readonly now: string;
  /** The revision that the write will have at least: a number nobody else got. */
  readonly revision: number;
}

/** What is special in admitting objects of a kind. All are pure. */
export interface Rules {
  /** A new object as it is to be stored: defaults, and what a client may not set itself. */
  readonly created?: (object: ApiObject, admission: Admission) => JsonObject;
  /** A changed object as it is to be stored. */
  readonly updated?: (object: ApiObject, before: ApiObject) => JsonObject;
  readonly problems?: (object: ApiObject, before: ApiObject | undefined) => readonly Problem[];
}

export const apiVersionOf = ({ group, version }: Pick<ServedKind, "group" | "version">): string =>
  group === "" ? version : `${group}/${version}`;
