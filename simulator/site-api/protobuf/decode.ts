import { isJsonObject, type JsonObject, type JsonValue } from "../../../agent/api/json.ts";
import { type Field, type Message, schema } from "../schema/schema.ts";
import { type Piece, piecesOf } from "./wire.ts";

/** A body that is not Kubernetes protobuf, or contains something unsupported here. */
class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** Every Kubernetes protobuf body begins with this. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/** The object in a body, with its kind and apiVersion, in its JSON form. */
export function decodeProtobuf(body: Uint8Array): JsonObject {
  if (!magic.equals(body.subarray(0, magic.length))) throw new ProtobufError("it does not begin as one");
  const envelope = new Map(piecesOf(body.subarray(magic.length)).map(({ number, value }) => [number, value]));
  const type = new Map(piecesOf(bytesOf(envelope.get(1))).map(({ number, value }) => [number, textOf(value)]));
  const kind = type.get(2) ?? "";
  if (!schema.has(kind)) throw new ProtobufError(`a ${kind} is not read as protobuf: send it as JSON`);
  return { kind, apiVersion: type.get(1) ?? "", ...messageIn(bytesOf(envelope.get(2)), kind) };
}

function messageIn(bytes: Uint8Array, name: string): JsonObject {
  const fields: Message = schema.get(name) ?? new Map();
  const members = new Map<string, JsonValue>();
  for (const piece of piecesOf(bytes)) {
    const field = fields.get(piece.number);
    if (field === undefined) {
      throw new ProtobufError(`field ${piece.number} of ${name} is not read as protobuf: send it as JSON`);
    }
    put(members, field, piece);
  }
  return Object.fromEntries(members);
}

function put(members: Map<string, JsonValue>, { name, form, type }: Field, { value }: Piece): void {
  switch (form) {
    case "list": {
      const before = members.get(name);
      members.set(name, [...(Array.isArray(before) ? before : []), valueIn(value, type)]);
      break;
    }
    case "map": {
      const entry = new Map(piecesOf(bytesOf(value)).map((part) => [part.number, part.value]));
      const before = members.get(name);
      const key = textOf(entry.get(1) ?? new Uint8Array());
      const one = valueIn(entry.get(2) ?? new Uint8Array(), type);
      members.set(name, { ...(isJsonObject(before) ? before : {}), [key]: one });
      break;
    }
    case "inline":
      for (const [inner, one] of Object.entries(messageIn(bytesOf(value), type))) members.set(inner, one);
      break;
    case "one":
    case "optional": {
      const one = valueIn(value, type);
      if (form === "optional" ? one !== null : !isZero(one)) members.set(name, one);
      break;
    }
    default:
      form satisfies never;
  }
}

const isZero = (value: JsonValue): boolean =>
  value === null ||
  value === "" ||
  value === 0 ||
  value === false ||
  (isJsonObject(value) && Object.keys(value).length === 0);

/** A value that is absent on the wire is zero. */
function valueIn(value: Piece["value"], type: string): JsonValue {
  switch (type) {
    case "text":
      return textOf(value);
    case "int":
    case "long":
      return numberOf(value);
    case "bool":
      return numberOf(value) !== 0;
    case "bytes":
      return Buffer.from(bytesOf(value)).toString("base64");
    case "Quantity":
      return textOf(partsOf(value).get(1) ?? new Uint8Array());
    case "IntOrString": {
      const parts = partsOf(value);
      return numberOf(parts.get(1) ?? 0n) === 0
        ? numberOf(parts.get(2) ?? 0n)
        : textOf(parts.get(3) ?? new Uint8Array());
    }
    case "Time":
      return timeOf(value, 0);
    case "MicroTime":
      return timeOf(value, 6);
    case "FieldsV1":
    case "Raw":
      return JSON.parse(textOf(partsOf(value).get(1) ?? new Uint8Array()) || "null") as JsonValue;
    default:
      return messageIn(bytesOf(value), type);
  }
}

const partsOf = (value: Piece["value"]): ReadonlyMap<number, Piece["value"]> =>
  new Map(piecesOf(bytesOf(value)).map((piece) => [piece.number, piece.value]));

function timeOf(value: Piece["value"], digits: 0 | 6): JsonValue {
  const parts = partsOf(value);
  if (parts.size === 0) return null;
  const seconds = numberOf(parts.get(1) ?? 0n);
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new ProtobufError("a time is out of range");
  const fraction = String(numberOf(parts.get(2) ?? 0n))
    .padStart(9, "0")
    .slice(0, digits);
  return `${date.toISOString().slice(0, 19)}${digits === 0 ? "" : `.${fraction}`}Z`;
}

function bytesOf(value: Piece["value"] | undefined): Uint8Array {
  if (value === undefined) return new Uint8Array();
  if (typeof value === "bigint") throw new ProtobufError("a number in place of bytes");
  return value;
}

const textOf = (value: Piece["value"]): string => Buffer.from(bytesOf(value)).toString("utf8");

function numberOf(value: Piece["value"]): number {
  if (typeof value !== "bigint") throw new ProtobufError("bytes in place of a number");
  return Number(BigInt.asIntN(64, value));
}
