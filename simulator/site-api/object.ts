import type { JsonObject, JsonValue } from "../../agent/api/json.ts";

/** Metadata of a stored object. Everything else in it may be there or not. */
export interface Metadata extends JsonObject {
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
}

/** An object as the log keeps it: without kind and apiVersion, which follow from where it is stored. */
export interface ApiObject extends JsonObject {
  readonly metadata: Metadata;
}

/** An object in the log and the text of it, either made from the other when first asked for. */
export class Entry {
  readonly key: string;
  /** The object's resourceVersion. */
  readonly revision: number;
  /** The object as JSON. It begins with a member, so that others can be put before it. */
  readonly text: string;
  #object: ApiObject | undefined;

  constructor(key: string, revision: number, text: string, object?: ApiObject) {
    this.key = key;
    this.revision = revision;
    this.text = text;
    this.#object = object;
  }

  get object(): ApiObject {
    // Nobody but `textOf` writes these texts.
    this.#object ??= JSON.parse(this.text) as ApiObject;
    return this.#object;
  }
}

/** Metadata first, and in it what identifies: as people expect to read it. */
export function normalized(
  { metadata, spec, status, ...rest }: ApiObject,
  resourceVersion: string | undefined,
): ApiObject {
  const {
    name,
    generateName,
    namespace,
    uid,
    resourceVersion: _,
    generation,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    managedFields,
    ...others
  } = metadata;
  const head = { name, generateName, namespace, uid, resourceVersion, generation, creationTimestamp };
  const deletion = { deletionTimestamp, deletionGracePeriodSeconds };
  const filled = Object.fromEntries(Object.entries(others).filter(([, value]) => !isEmpty(value)));
  const meta = defined({ ...head, ...deletion, ...filled, managedFields }) as Metadata;
  return defined({ metadata: meta, spec, ...rest, status }) as ApiObject;
}

/** Labels, annotations, finalizers, owners: none at all and an empty collection of them are the same. */
const isEmpty = (value: JsonValue): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** Only the members that have a value. */
export function defined(object: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const entries = Object.entries(object).flatMap(([name, value]): [string, JsonValue][] =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}
