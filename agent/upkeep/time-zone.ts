import type { Millis } from "../base/clock.ts";
import { type Rule, ruleFrom, ruleOffset } from "./zone-rule.ts";

/** A time zone. */
export interface Zone {
  /** The offset of local time from UTC at a moment in milliseconds since 1970; positive east of Greenwich. */
  offsetAt(wall: Millis): Millis;
}

export const utc: Zone = { offsetAt: () => 0 };

/** Reads a file of the board; undefined if it does not exist. */
export type ReadBytes = (file: string) => Uint8Array | undefined;

/** The zone with this name or, without a name, the board's own; undefined if the board does not know the name. */
export function zoneNamed(name: string | undefined, read: ReadBytes): Zone | undefined {
  if (name === "UTC") return utc;
  const bytes = read(name === undefined ? "/etc/localtime" : `/usr/share/zoneinfo/${name}`);
  // Without /etc/localtime, the board's zone is UTC: see localtime(5).
  return bytes === undefined ? (name === undefined ? utc : undefined) : zoneFrom(bytes);
}

/**
 * Parses a compiled time zone (TZif, RFC 9636, version 2 and later); undefined if it is not a valid one. V8 could do
 * this with ICU, whose tables take 8 MB of memory once they are used.
 */
export function zoneFrom(bytes: Uint8Array): Zone | undefined {
  try {
    const first = headerAt(bytes, 0);
    if (first === undefined || first.version < 2) return undefined;
    const second = headerAt(bytes, headerSize + sizeOf(first, 4));
    return second && zoneOf(bytes, second);
  } catch (error) {
    // The file is truncated.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const headerSize = 44;

/** The header of a TZif file: the numbers of entries in the block after it. */
interface Header {
  /** The offset of the data block in the file, in bytes. */
  readonly at: number;
  readonly version: number;
  readonly utcMarks: number;
  readonly wallMarks: number;
  readonly leaps: number;
  readonly times: number;
  readonly types: number;
  readonly letters: number;
}

function headerAt(bytes: Uint8Array, at: number): Header | undefined {
  const view = viewOf(bytes);
  if (view.getUint32(at) !== 0x545a6966) return undefined;
  const count = (index: number): number => view.getUint32(at + 20 + 4 * index);
  const version = view.getUint8(at + 4);
  return {
    at,
    version: version === 0 ? 1 : version - 0x30,
    utcMarks: count(0),
    wallMarks: count(1),
    leaps: count(2),
    times: count(3),
    types: count(4),
    letters: count(5),
  };
}

/** Size of the data block after a header whose times take `width` bytes each. */
const sizeOf = ({ utcMarks, wallMarks, leaps, times, types, letters }: Header, width: number): number =>
  times * (width + 1) + types * 6 + letters + leaps * (width + 4) + wallMarks + utcMarks;

const maxFooterLength = 200;

function zoneOf(bytes: Uint8Array, header: Header): Zone | undefined {
  const view = viewOf(bytes);
  const start = header.at + headerSize;
  const [indexes, types] = [start + header.times * 8, start + header.times * 9];
  if (header.types === 0) return undefined;
  const transitions: Millis[] = [];
  const offsets: Millis[] = [];
  for (let at = 0; at < header.times; at++) {
    transitions.push(Number(view.getBigInt64(start + at * 8)) * 1000);
    offsets.push(view.getInt32(types + view.getUint8(indexes + at) * 6) * 1000);
  }
  const before = view.getInt32(types) * 1000;
  const footer = String.fromCharCode(...bytes.subarray(start + sizeOf(header, 8)).subarray(0, maxFooterLength));
  const rule = ruleFrom(footer.split("\n")[1] ?? "");
  return { offsetAt: (wall) => offsetOf(wall, { transitions, offsets, before, rule }) };
}

interface Table {
  /** The moments at which the offset changes, in milliseconds since 1970. */
  readonly transitions: readonly Millis[];
  /** The offset after each transition. */
  readonly offsets: readonly Millis[];
  /** The offset before the first transition. */
  readonly before: Millis;
  /** Applies after the last transition; if undefined, the last offset remains in effect. */
  readonly rule: Rule | undefined;
}

function offsetOf(wall: Millis, { transitions, offsets, before, rule }: Table): Millis {
  const isPast = wall >= (transitions.at(-1) ?? Number.NEGATIVE_INFINITY);
  if (isPast && rule) return ruleOffset(rule, wall);
  let [low, high] = [0, transitions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((transitions[middle] ?? 0) <= wall) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? before : (offsets[low - 1] ?? before);
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
