import { type Fields, isFields } from "../api/shape-rules.ts";

/** Bytes that are not a message, or not one as Kubernetes writes it. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** The fields to read, by field number. All others are skipped. */
export type Message = readonly (Field | undefined)[];

export interface Field {
  /** The field's JSON name. */
  readonly name: string;
  readonly type: "text" | "number" | "flag" | "time" | Message;
  /** once: zero means absent, as in JSON. pointer: a zero that is present counts. */
  readonly form: "once" | "pointer" | "list" | "map";
}

export const message = (fields: Readonly<Record<number, Field>>): Message =>
  Array.from({ length: Math.max(...Object.keys(fields).map(Number)) + 1 }, (_, number) => fields[number]);

const once =
  (type: Field["type"]) =>
  (name: string): Field => ({ name, type, form: "once" });

export const text = once("text");
export const number = once("number");
export const flag = once("flag");
export const time = once("time");
export const part = (name: string, type: Message): Field => ({ name, type, form: "pointer" });
export const list = (name: string, type: "text" | Message): Field => ({ name, type, form: "list" });
/** From text to text. */
export const map = (name: string): Field => ({ name, type: "text", form: "map" });
/** From text to quantities, each of which is a message around a text. */
export const quantities = (name: string): Field => ({ name, type: quantity, form: "map" });
export const pointer = (field: Field): Field => ({ ...field, form: "pointer" });

const quantity = message({ 1: text("string") });

/** The message in a range, as JSON would have it. Most varints have one byte: read inline, for speed. */
export function read(bytes: Buffer, from: number, end: number, fields: Message): Fields {
  const found: Fields = {};
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
    if (field !== undefined) putBytes(found, field, bytes, at, at + value);
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
  throw new ProtobufError("a number does not end");
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

function putNumber(found: Fields, { name, type, form }: Field, value: number): void {
  if (type !== "number" && type !== "flag") throw new ProtobufError(`${name} is a number`);
  if (value !== 0 || form === "pointer") found[name] = type === "flag" ? value !== 0 : value;
}

function putBytes(found: Fields, { name, type, form }: Field, bytes: Buffer, from: number, end: number): void {
  if (form === "map") {
    putEntry(found, name, read(bytes, from, end, type === "text" ? textEntry : quantityEntry));
    return;
  }
  const value = valueAt(type, bytes, from, end);
  if (form === "list") {
    const values = found[name];
    if (Array.isArray(values)) values.push(value);
    else found[name] = [value];
  } else if (form === "pointer" || (value !== "" && value !== undefined)) found[name] = value;
}

function valueAt(type: Field["type"], bytes: Buffer, from: number, end: number): unknown {
  if (type === "text") return bytes.toString("utf8", from, end);
  if (type === "time") return timeAt(bytes, from, end);
  if (type === "number" || type === "flag") throw new ProtobufError("bytes stand where a number belongs");
  return read(bytes, from, end, type);
}

const textEntry = message({ 1: text("key"), 2: text("value") });
const quantityEntry = message({ 1: text("key"), 2: part("value", quantity) });

function putEntry(found: Fields, name: string, { key = "", value: held = "" }: Fields): void {
  const value = isFields(held) ? (held.string ?? "") : held;
  const values = found[name];
  // Kubernetes permits no such name, and as a property it would set the prototype.
  if (key === "__proto__") return;
  if (isFields(values)) values[String(key)] = value;
  else found[name] = { [String(key)]: value };
}

const seconds = message({ 1: pointer(number("seconds")) });

const digits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, "0"));

/** In UTC without fractions, as in JSON; undefined if no time. Like `isoTime`, but faster: times are frequent. */
function timeAt(bytes: Buffer, from: number, end: number): string | undefined {
  const found = read(bytes, from, end, seconds).seconds;
  if (typeof found !== "number") return undefined;
  const at = new Date(found * 1000);
  const year = at.getUTCFullYear();
  if (!(year >= 1000 && year <= 9999)) throw new ProtobufError("a time is out of range");
  const date = `${year}-${digits[at.getUTCMonth() + 1]}-${digits[at.getUTCDate()]}`;
  return `${date}T${digits[at.getUTCHours()]}:${digits[at.getUTCMinutes()]}:${digits[at.getUTCSeconds()]}Z`;
}

/** The first bytes of every protobuf body of Kubernetes, and of no JSON. */
export const magic = Buffer.from("k8s\0");

const typeMeta = message({ 2: text("kind") });
/** runtime.Unknown. */
const envelopeOf = (type: Message): Message => message({ 1: part("type", typeMeta), 2: part("raw", type) });

/** The object of a whole body, with its kind; undefined if the body holds something else. */
export function readEnvelope(body: Buffer, kind: string, type: Message): Fields | undefined {
  if (!magic.equals(body.subarray(0, magic.length))) return undefined;
  const { type: found, raw } = read(body, magic.length, body.length, envelopeOf(type));
  return isFields(found) && found.kind === kind && isFields(raw) ? { kind, ...raw } : undefined;
}
