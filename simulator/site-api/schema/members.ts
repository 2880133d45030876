import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../agent/api/json.ts";
import { readTime } from "../../../agent/base/time/iso-time.ts";
import { type Field, schema } from "./schema.ts";

/** A field whose type differs from the one that its kind declares. The message is a sentence about the field. */
export class MemberError extends Error {
  override readonly name = "MemberError";
}

export interface ReadMembers {
  /** The known fields, in the form in which the real server writes them. */
  readonly object: JsonObject;
  /** Paths of the unknown fields: "spec.containers[0].chair". */
  readonly unknown: readonly string[];
}

/**
 * Reads an object of a kind as the real server does: by its schema. Null and meaningless empty values count as absent.
 * Throws a MemberError at the first field that cannot be read.
 */
export function readMembers(kind: string, value: JsonObject): ReadMembers {
  const unknown: string[] = [];
  return { object: messageIn(value, kind, "", unknown), unknown };
}

const byName = new Map(
  [...schema.keys()].map((name) => [name, new Map(membersOf(name).map((one) => [one.name, one]))]),
);

/** The fields of a message in JSON. Those of an inlined field belong to the object around it. */
export function membersOf(message: string): readonly Field[] {
  const fields = [...(schema.get(message)?.values() ?? [])];
  return fields.flatMap((field) => (field.form === "inline" ? membersOf(field.type) : [field]));
}

function messageIn(value: JsonValue, message: string, path: string, unknown: string[]): JsonObject {
  if (!isJsonObject(value)) throw new MemberError(`${path} must be an object`);
  const fields = byName.get(message);
  const members: [string, JsonValue][] = [];
  for (const [name, one] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`;
    const field = fields?.get(name);
    if (field === undefined) unknown.push(at);
    else if (one !== null) {
      const read = readValue(field, one, at, unknown);
      if (read !== undefined) members.push([name, read]);
    }
  }
  return Object.fromEntries(members);
}

/** Reads a field's value. Undefined if it is empty and an empty value means absent. */
function readValue(
  { form, type, always }: Field,
  value: JsonValue,
  at: string,
  unknown: string[],
): JsonValue | undefined {
  switch (form) {
    case "list": {
      if (!isJsonArray(value)) throw new MemberError(`${at} must be a list`);
      const items = value.map((one, i) => (one === null ? zeroOf(type) : typed(one, type, `${at}[${i}]`, unknown)));
      return items.length > 0 || always ? items : undefined;
    }
    case "map": {
      if (!isJsonObject(value)) throw new MemberError(`${at} must be an object`);
      const entries = Object.entries(value).map(([key, one]) => [
        key,
        one === null ? zeroOf(type) : typed(one, type, `${at}.${key}`, unknown),
      ]);
      return entries.length > 0 || always ? Object.fromEntries(entries) : undefined;
    }
    case "one":
    case "inline": {
      const one = typed(value, type, at, unknown);
      return always || (one !== "" && one !== 0 && one !== false) ? one : undefined;
    }
    case "optional":
      return typed(value, type, at, unknown);
    default:
      return form satisfies never;
  }
}

/** The value that Go reads for a null in a collection. */
function zeroOf(type: string): JsonValue {
  if (schema.has(type)) return {};
  return type === "int" || type === "long" ? 0 : type === "bool" ? false : "";
}

const most32 = 2 ** 31;
const quantity = /^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;
const base64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)|[A-Za-z0-9+/]{3}=)?$/;

function typed(value: JsonValue, type: string, at: string, unknown: string[]): JsonValue {
  const is = (fits: boolean, what: string): JsonValue => {
    if (!fits) throw new MemberError(`${at} must be ${what}`);
    return value;
  };
  switch (type) {
    case "text":
      return is(typeof value === "string", "a string");
    case "bool":
      return is(typeof value === "boolean", "true or false");
    case "int":
      return is(isWhole(value) && value >= -most32 && value < most32, "a whole number of 32 bits");
    case "long":
      return is(isWhole(value), "a whole number");
    case "bytes":
      return is(typeof value === "string" && base64.test(value), "bytes in base64");
    case "Quantity":
      is(
        typeof value === "number" || (typeof value === "string" && quantity.test(value)),
        'a quantity like "500m" or "2Gi"',
      );
      return String(value);
    case "IntOrString":
      return is(typeof value === "string" || isWhole(value), "a string or a whole number");
    case "Time":
      return timeOf(value, at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, "");
    case "MicroTime":
      return timeOf(
        value,
        at,
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})(Z|[+-]\d\d:\d\d)$/,
        " with six digits of a second",
      );
    case "FieldsV1":
    case "Raw":
      return value;
    default:
      return messageIn(value, type, at, unknown);
  }
}

const isWhole = (value: JsonValue): value is number => typeof value === "number" && Number.isInteger(value);

/** Converts a time to UTC. A Time has no fraction; a MicroTime always has six digits, which are kept. */
function timeOf(value: JsonValue, at: string, form: RegExp, digits: string): JsonValue {
  const [, fraction = ""] = (typeof value === "string" && form.exec(value)) || [];
  const time = typeof value === "string" && form.test(value) ? readTime(value) : undefined;
  if (time === undefined) throw new MemberError(`${at} must be a time (RFC 3339)${digits}`);
  return `${new Date(time).toISOString().slice(0, 19)}${digits === "" ? "" : fraction}Z`;
}
