import { type ParseJson, parserOf } from "../../api/exact-integers.ts";
import type { KubeObject } from "../../api/meta.ts";
import type { Resource } from "../../api/resources.ts";
import { isControllerCreated } from "../../api/shape-rules.ts";
import { backslash } from "../../base/json-signs.ts";
import { keepMembers, type MemberFilter } from "./reduce.ts";

/**
 * Maximum number of object members in one JSON text. Parsing this many blocks a small board's event loop for 20 ms. An
 * EndpointSlice of 1 000 endpoints has 12 000.
 */
export const maxMembers = 30_000;
/** Maximum number of strings in arrays; so many take about as long to parse as `maxMembers`. */
export const maxTexts = 2 * maxMembers;
/**
 * Maximum number of commas, and so of values of any kind. Harmless commas inside strings are counted too, and an
 * annotation may be 256 KiB long.
 */
const maxValues = 400_000;

/**
 * The scale of `exceededLimit` for objects of a kind. Objects that controllers create (pods, revisions, slices) have
 * the fields of the owner's template and more: endpoints, defaults, copies of labels. They must be readable whenever
 * the owner is.
 */
export const crowdScaleOf = (resource: Resource<KubeObject>): number => (isControllerCreated(resource) ? 1.5 : 1);

/** How the JSON of a kind is read. */
export interface ReadingForm {
  /** The fields that a reader may need. Only these are read if the object is too crowded. */
  readonly kept: MemberFilter;
  /** See `exceededLimit`. */
  readonly scale: number;
  readonly parse: ParseJson;
}

export const readingForm = (
  resource: Resource<KubeObject>,
  kept: (resource: Resource<KubeObject>) => MemberFilter,
): ReadingForm => ({ kept: kept(resource), scale: crowdScaleOf(resource), parse: parserOf(resource) });

/**
 * The text to parse: the whole text or, if it exceeds a limit, only its kept fields. Returns the limit if these still
 * exceed one.
 */
export function reduceIfCrowded(
  text: string,
  { kept, scale }: Pick<ReadingForm, "kept" | "scale">,
): { readonly text: string } | { readonly crowd: string } {
  const crowd = exceededLimit(text, scale);
  if (crowd === undefined) return { text };
  const part = keepMembers(text, kept);
  if (part === undefined) return { crowd };
  const left = exceededLimit(part, scale);
  return left === undefined ? { text: part } : { crowd: left };
}

/**
 * Counts the members, strings and values of a JSON text without parsing it. Returns the exceeded limit ("more than
 * 30000 members"), or undefined if the text may be parsed. An empty object in an array counts as a member, because it
 * takes just as much memory. `scale` multiplies the limits.
 */
export function exceededLimit(text: string, scale = 1): string | undefined {
  const [members, texts, values] = [scale * maxMembers, scale * maxTexts, scale * maxValues];
  // The shortest counted item is an empty object with its comma, so a short text cannot exceed the limit.
  if (text.length < members * emptyLength) return undefined;
  // A quote after a backslash belongs to a string that itself contains JSON.
  const isName = (at: number): boolean => text.charCodeAt(at - 1) !== backslash;
  const empties = countIn(text, empty, emptyLength, members);
  if (empties + countIn(text, sign, sign.length, members - empties, isName) > members) {
    return `more than ${members} members`;
  }
  if (countIn(text, between, between.length, texts) > texts) return `more than ${texts} strings in lists`;
  return countIn(text, ",", 1, values) > values ? `more than ${values} values` : undefined;
}

/** The number of occurrences of `sought` for which `counts` is true; stops counting above `most`. */
function countIn(
  text: string,
  sought: string,
  step: number,
  most: number,
  counts: (at: number) => boolean = () => true,
): number {
  let count = 0;
  for (let at = text.indexOf(sought); at >= 0 && count <= most; at = text.indexOf(sought, at + step)) {
    if (counts(at)) count++;
  }
  return count;
}

const sign = '":';
/** An empty object in an array. An empty member value does not match, because a name follows it, not another object. */
const empty = "{},{";
const emptyLength = "{},".length;
const between = '","';
