import type { JsonObject, JsonValue } from "../../../agent/api/json.ts";

/** Metadata of a stored object. All other fields are optional. */
export interface Metadata extends JsonObject {
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
}

/** An object as stored in the log: without kind and apiVersion, which follow from its place. */
export interface ApiObject extends JsonObject {
  readonly metadata: Metadata;
}

/** An object in the log and its JSON, each derived from the other on first use. */
export class Entry {
  readonly key: string;
  /** The object's resourceVersion. */
  readonly revision: number;
  /** The object as JSON. It begins with a field, before which others can be inserted. */
  readonly text: string;
  #object: ApiObject | undefined;

  constructor(key: string, revision: number, text: string, object?: ApiObject) {
    this.key = key;
    this.revision = revision;
    this.text = text;
    this.#object = object;
  }

  get object(): ApiObject {
    // The cast is safe, because only `textOf` writes this JSON.
    this.#object ??= JSON.parse(this.text) as ApiObject;
    return this.#object;
  }
}

/**
 * The object with its fields in the order in which people expect to read them: metadata first, and in it the identity.
 */
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

/** Whether a value is empty. Absent and empty labels, annotations, finalizers and owners are equivalent. */
const isEmpty = (value: JsonValue): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** The object with only those fields that have a value. */
export function defined(object: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const entries = Object.entries(object).flatMap(([name, value]): [string, JsonValue][] =>
    value === undefined ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}
