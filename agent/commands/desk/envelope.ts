import { isRecord, type JsonRecord } from "../../base/json.ts";
import { backslash, closeList, closeObject, colon, openList, openObject, quote } from "../../base/json-signs.ts";
import { mapped, object, only, optional, record, type TypeOf, text, whole, yesNo } from "../../base/schema.ts";
import { readTime } from "../../base/time/iso-time.ts";
import { readArguments } from "./arguments.ts";
import type { Refusal } from "./refusal.ts";
import { rejection } from "./refusal.ts";

/** Grammar of an id and a name in a topic. Excludes characters that are special in topic filters or logs. */
export const idPattern = /^[A-Za-z0-9_-]{1,64}$/;
export const namePattern = /^[a-z][a-z-]{0,31}(\.[a-z][a-z-]{0,31})?$/;

const written = text({
  pattern:
    /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z$/,
  most: 30,
});

const timestamp = optional(
  mapped(written, (value, problems) =>
    readTime(value) === undefined
      ? problems.add({ is: "against a rule", message: "names a day that does not exist" })
      : value,
  ),
);

const number = optional(whole({ min: 0, max: 2 ** 53 - 1 }));

export const envelopeSchema = record({
  v: only(1),
  id: text({ pattern: idPattern, most: 64 }),
  name: text({ pattern: namePattern, most: 65 }),
  args: optional(object),
  iat: timestamp,
  exp: timestamp,
  by: optional(text({ pattern: /^[A-Za-z0-9][A-Za-z0-9._@:/-]*$/, most: 64 })),
  reason: optional(text({ pattern: /^\P{Cc}+$/u, most: 200 })),
  if: optional(record({ term: number, configVersion: number, bootId: optional(text({ most: 64 })) })),
  ctr: number,
  dryRun: optional(yesNo),
});

export type Envelope = TypeOf<typeof envelopeSchema>;

/** Maximum length of a command in bytes; announced on connecting, so that the broker drops longer ones. */
const maxCommandLength = 65_536;

const deepest = 10;

/** Parses an envelope, and applies rows 5 to 8 of docs/interfaces.md#order-of-checks. */
export function parseEnvelope(
  payload: Uint8Array,
  named: { readonly id: string; readonly name: string },
): { readonly envelope: Envelope } | { readonly refusal: Refusal } {
  const value = parseJson(payload);
  if (typeof value === "string") return { refusal: rejection(400, "malformed", value) };
  const version = Object.hasOwn(value, "v") ? value.v : undefined;
  if (Number.isInteger(version) && version !== 1) {
    return {
      refusal: {
        ...rejection(426, "unsupported-version", "this agent supports version 1"),
        result: { supported: [1] },
      },
    };
  }
  const found = readArguments(envelopeSchema, value, "");
  if ("problem" in found) {
    return { refusal: { ...rejection(400, "schema", found.problem.message), field: found.problem.field } };
  }
  const envelope = found.value;
  if (envelope.id !== named.id || envelope.name !== named.name) {
    const field = envelope.id === named.id ? "/name" : "/id";
    return { refusal: { ...rejection(400, "id-mismatch", "id and name must match the topic"), field } };
  }
  return { envelope };
}

/** Returns the object, or a description of the fault. */
function parseJson(payload: Uint8Array): JsonRecord | string {
  if (payload.length > maxCommandLength) return `longer than ${maxCommandLength} bytes`;
  const members = countMembers(payload);
  if (members === undefined) return `nested deeper than ${deepest} levels`;
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload));
    if (!isRecord(value)) return "not an object";
    return membersOf(value) === members ? value : "an object has two members of the same name";
  } catch {
    return "not JSON in UTF-8";
  }
}

/**
 * The number of members, counted by the colons outside strings; undefined if the brackets are nested too deeply. Called
 * before JSON.parse allocates anything.
 */
function countMembers(payload: Uint8Array): number | undefined {
  let [depth, members] = [0, 0];
  let isText = false;
  for (let at = 0; at < payload.length; at++) {
    const byte = payload[at];
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === colon) members++;
    else if (byte === openObject || byte === openList) {
      if (++depth > deepest) return undefined;
    } else if (byte === closeObject || byte === closeList) depth--;
  }
  return members;
}

/**
 * The number of members in a parsed value. It is smaller than in the text if a name occurred twice in one object,
 * because JSON.parse keeps only the last of the two.
 */
function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value).reduce((sum: number, one) => sum + membersOf(one), 0);
  return inside + (Array.isArray(value) ? 0 : Object.keys(value).length);
}
