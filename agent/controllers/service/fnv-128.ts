import { inTextOrder } from "../../base/text-order.ts";

/**
 * FNV-1a of 128 bits over the UTF-8 of a text, as hexadecimal digits. The prime is 2^88 + 2^8 + 0x3b; what is multiplied
 * lies in four numbers of 32 bits, the lowest first, so that nothing exceeds what a number holds exactly.
 */
export function fnv128(text: string): string {
  let [a, b, c, d] = [0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e];
  for (const byte of Buffer.from(text)) {
    a = (a ^ byte) >>> 0;
    const [a0, b0] = [a, b];
    let carry = a * small;
    a = carry % limb;
    carry = Math.floor(carry / limb) + b * small;
    b = carry % limb;
    carry = Math.floor(carry / limb) + c * small + (a0 % 2 ** 8) * 2 ** 24;
    c = carry % limb;
    // The lowest limb from 8 bits on, and of the next one as much as still fits below 2^128.
    d = (Math.floor(carry / limb) + d * small + Math.floor(a0 / 2 ** 8) + (b0 % 2 ** 8) * 2 ** 24) % limb;
  }
  return [d, c, b, a].map((part) => part.toString(16).padStart(8, "0")).join("");
}

/** Items in the order of the hashes of their texts, as kube-controller-manager writes them. */
export function byHash<T>(items: readonly T[], textOf: (item: T) => string): readonly T[] {
  if (items.length < 2) return items;
  return items
    .map((item) => ({ item, hash: fnv128(textOf(item)) }))
    .sort((a, b) => inTextOrder(a.hash, b.hash))
    .map(({ item }) => item);
}

const limb = 2 ** 32;
const small = 0x13b;
