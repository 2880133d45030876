import { isFields, type ParsedFields } from "../../api/shape-rules.ts";
import { maxMembers, maxTexts } from "./crowded.ts";

/** The bytes are not a protobuf message, or use an encoding that Kubernetes never uses. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** The fields to read, by field number. All others are skipped. */
export type ProtobufMessage = readonly (ProtobufField | undefined)[];

export interface ProtobufField {
  /** The field's name in JSON. */
  readonly name: string;
  readonly type: "text" | "number" | "flag" | "time" | ProtobufMessage;
  /**
   * once: a zero or empty value counts as absent. pointer: zero is a value if the field is present. inline: the fields
   * of the message belong to its owner, as in JSON.
   */
  readonly form: "once" | "pointer" | "inline" | "list" | "map";
  /** For a map, the only keys to read. All other entries are skipped and not counted. */
  readonly only?: readonly string[];
}

export const message = (fields: Readonly<Record<number, ProtobufField>>): ProtobufMessage =>
  Array.from({ length: Math.max(...Object.keys(fields).map(Number)) + 1 }, (_, number) => fields[number]);

const once =
  (type: ProtobufField["type"]) =>
  (name: string): ProtobufField => ({ name, type, form: "once" });

export const text = once("text");
export const number = once("number");
export const flag = once("flag");
export const time = once("time");
export const part = (name: string, type: ProtobufMessage): ProtobufField => ({ name, type, form: "pointer" });
export const list = (name: string, type: "text" | ProtobufMessage): ProtobufField => ({ name, type, form: "list" });
/** A map from strings to strings. */
export const map = (name: string): ProtobufField => ({ name, type: "text", form: "map" });
/** The entries of these keys in a map from strings to strings. */
export const entries = (name: string, ...only: readonly string[]): ProtobufField => ({ ...map(name), only });
export const inline = (type: ProtobufMessage): ProtobufField => ({ name: "", type, form: "inline" });
/** A map from strings to quantities; each quantity is a message that holds a string. */
export const quantities = (name: string): ProtobufField => ({ name, type: quantity, form: "map" });
export const pointer = (field: ProtobufField): ProtobufField => ({ ...field, form: "pointer" });

const quantity = message({ 1: text("string") });

/**
 * Parses the message in a range of bytes to the object that its JSON form would give. Throws ProtobufError if the input
 * is malformed or has too many messages. Their number is limited because an empty message of two bytes parses to an
 * object thirty times its size. `scale` multiplies the limits.
 */
export const read = (bytes: Buffer, from: number, end: number, fields: ProtobufMessage, scale = 1): ParsedFields =>
  readWithin({ messages: scale * maxMembers, texts: scale * maxTexts, scale }, bytes, from, end, fields);

/** How many more messages, and strings in lists, may be read. */
interface Allowance {
  messages: number;
  texts: number;
  readonly scale: number;
}

/** Parses the message in a range of bytes. Reads varints of one byte, the most frequent, without a function call. */
function readWithin(
  allowance: Allowance,
  bytes: Buffer,
  from: number,
  end: number,
  fields: ProtobufMessage,
): ParsedFields {
  if (allowance.messages-- === 0) throw new ProtobufError(`more than ${allowance.scale * maxMembers} messages`);
  const found: ParsedFields = {};
  let at = from;
  while (at < end) {
    let tag = bytes[at] ?? 0;
    if (tag < 0x80) at++;
    else {
      tag = integer(bytes, at, end);
      at += widthOf(bytes, at);
    }
    const field = fields[tag >>> 3];
    const form = tag & 7;
    if (form !== 2 && form !== 0) throw new ProtobufError("a field has a form that Kubernetes does not use");
    let value = at < end ? (bytes[at] ?? 0) : 0x80;
    if (value < 0x80) at++;
    else {
      value = integer(bytes, at, end);
      at += widthOf(bytes, at);
    }
    if (form === 0) {
      if (field !== undefined) putNumber(found, field, value);
      continue;
    }
    if (!(value >= 0 && value <= end - at)) throw new ProtobufError("a message ends too early");
    if (field !== undefined) putBytes(allowance, found, field, bytes, at, at + value);
    at += value;
  }
  return found;
}

/** The varint at `at`: an integer, in two's complement if negative. */
export function integer(bytes: Buffer, at: number, end: number): number {
  let value = 0;
  let weight = 1;
  for (let next = at; next < end && next < at + 10; next++) {
    const byte = bytes[next] ?? 0;
    value += (byte & 0x7f) * weight;
    if (byte < 0x80) return value <= Number.MAX_SAFE_INTEGER ? value : long(bytes, at, next);
    weight *= 128;
  }
  throw new ProtobufError("a varint is longer than ten bytes or truncated");
}

function long(bytes: Buffer, first: number, last: number): number {
  let value = 0n;
  for (let at = last; at >= first; at--) value = (value << 7n) | BigInt((bytes[at] ?? 0) & 0x7f);
  return Number(BigInt.asIntN(64, value));
}

/** The length in bytes of the varint at `at`. */
export function widthOf(bytes: Buffer, at: number): number {
  let last = at;
  while ((bytes[last] ?? 0) >= 0x80) last++;
  return last - at + 1;
}

function putNumber(found: ParsedFields, { name, type, form }: ProtobufField, value: number): void {
  if (type !== "number" && type !== "flag") throw new ProtobufError(`${name} is a number`);
  if (value !== 0 || form === "pointer") found[name] = type === "flag" ? value !== 0 : value;
}

function putBytes(
  allowance: Allowance,
  found: ParsedFields,
  { name, type, form, only }: ProtobufField,
  bytes: Buffer,
  from: number,
  end: number,
): void {
  if (form === "map") {
    if (only && !only.some((key) => isOf(key, bytes, from, end))) return;
    putEntry(found, name, readWithin(allowance, bytes, from, end, type === "text" ? textEntry : quantityEntry));
    return;
  }
  const value = valueAt(allowance, type, bytes, from, end);
  if (form === "list") {
    if (type === "text" && allowance.texts-- === 0)
      throw new ProtobufError(`more than ${allowance.scale * maxTexts} strings in lists`);
    const values = found[name];
    if (Array.isArray(values)) values.push(value);
    else found[name] = [value];
  } else if (form === "inline") Object.assign(found, value);
  else if (form === "pointer" || (value !== "" && value !== undefined)) found[name] = value;
}

function valueAt(allowance: Allowance, type: ProtobufField["type"], bytes: Buffer, from: number, end: number): unknown {
  if (type === "text") return bytes.toString("utf8", from, end);
  if (type === "time") return timeAt(bytes, from, end);
  if (type === "number" || type === "flag") throw new ProtobufError("bytes in place of a number");
  return readWithin(allowance, bytes, from, end, type);
}

/** Whether this map entry has the wanted key. Reads only the key, which comes first. */
const isOf = (key: string, bytes: Buffer, from: number, end: number): boolean =>
  bytes[from] === keyTag &&
  bytes[from + 1] === key.length &&
  end - from >= key.length + 2 &&
  bytes.toString("latin1", from + 2, from + 2 + key.length) === key;

/** The tag of an entry's key: field 1, with its length. */
const keyTag = 0x0a;

const textEntry = message({ 1: text("key"), 2: text("value") });
const quantityEntry = message({ 1: text("key"), 2: part("value", quantity) });

function putEntry(found: ParsedFields, name: string, { key = "", value: held = "" }: ParsedFields): void {
  const value = isFields(held) ? (held.string ?? "") : held;
  const values = found[name];
  // Not a valid name in Kubernetes, and assigning it would replace the object's prototype.
  if (key === "__proto__") return;
  if (isFields(values)) values[String(key)] = value;
  else found[name] = { [String(key)]: value };
}

const seconds = message({ 1: pointer(number("seconds")) });

const digits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/** A metav1.Time as in JSON; undefined if it is not set. Equivalent to `timestamp`, but faster. */
function timeAt(bytes: Buffer, from: number, end: number): string | undefined {
  const found = read(bytes, from, end, seconds).seconds;
  if (typeof found !== "number") return undefined;
  const at = new Date(found * 1000);
  const year = at.getUTCFullYear();
  if (!(year >= 1000 && year <= 9999)) throw new ProtobufError("a time is out of range");
  const date = `${year}-${digits[at.getUTCMonth() + 1]}-${digits[at.getUTCDate()]}`;
  return `${date}T${digits[at.getUTCHours()]}:${digits[at.getUTCMinutes()]}:${digits[at.getUTCSeconds()]}Z`;
}

/** The first bytes of every protobuf body of Kubernetes. */
export const magic = Buffer.from("k8s\0");

const typeMeta = message({ 2: text("kind") });
/** The envelope (runtime.Unknown) of an object of this type. */
const envelopeOf = (type: ProtobufMessage): ProtobufMessage =>
  message({ 1: part("type", typeMeta), 2: part("raw", type) });

/**
 * Parses a whole body that contains an object of this kind; undefined if the object is of another kind, or the body is
 * not protobuf.
 */
export function readEnvelope(body: Buffer, kind: string, type: ProtobufMessage): ParsedFields | undefined {
  if (!magic.equals(body.subarray(0, magic.length))) return undefined;
  const { type: found, raw } = read(body, magic.length, body.length, envelopeOf(type));
  return isFields(found) && found.kind === kind && isFields(raw) ? { kind, ...raw } : undefined;
}
