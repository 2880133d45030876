import { endsStep, type Steps } from "../../base/steps.ts";

/**
 * 128-bit FNV-1a over the UTF-8 of a string, as hexadecimal digits. The prime is 2^88 + 2^8 + 0x3b. Uses limbs of 22
 * bits, lowest first, so that products with the low part of the prime fit into 31 bits, and 2^88 is a shift by four
 * limbs.
 */
export function* fnv128(text: string): Steps<string> {
  let a = 0x15c58d;
  let b = 0x5d58a;
  let c = 0x262b82;
  let d = 0x2ec050;
  let e = 0x272e07;
  let f = 0x1b188;
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at++) {
    const a0 = a ^ (bytes[at] ?? 0);
    const b0 = b;
    let sum = a0 * lowPrime;
    a = sum & limbMask;
    sum = b0 * lowPrime + (sum >>> bits);
    b = sum & limbMask;
    sum = c * lowPrime + (sum >>> bits);
    c = sum & limbMask;
    sum = d * lowPrime + (sum >>> bits);
    d = sum & limbMask;
    sum = e * lowPrime + (sum >>> bits) + a0;
    e = sum & limbMask;
    // The highest limb holds the remaining 18 bits of 128.
    f = (f * lowPrime + (sum >>> bits) + b0) & 0x3ffff;
    if (at % bytesTogether === bytesTogether - 1) yield;
  }
  const whole = [f, e, d, c, b, a].reduce((high, low) => (high << BigInt(bits)) | BigInt(low), 0n);
  return whole.toString(16).padStart(32, "0");
}

/**
 * Sorts items by the hash of their printed form, as kube-controller-manager does; items with equal hashes keep their
 * order.
 */
export function* byHash<T>(items: readonly T[], textOf: (item: T) => string): Steps<readonly T[]> {
  if (items.length < 2) return items;
  const hashes: string[] = [];
  for (const [index, item] of items.entries()) {
    hashes.push(`${yield* fnv128(textOf(item))} ${String(index).padStart(9, "0")}`);
    if (endsStep(index)) yield;
  }
  // Sorting strings without a comparator takes a few milliseconds for ten thousand.
  return hashes.sort().flatMap((hash) => items[Number(hash.slice(33))] ?? []);
}

/** Number of bytes hashed in one step. */
const bytesTogether = 16_384;
/** Bits of a limb. */
const bits = 22;
const limbMask = 2 ** bits - 1;
/** The low part of the prime: 2^8 + 0x3b. */
const lowPrime = 0x13b;
