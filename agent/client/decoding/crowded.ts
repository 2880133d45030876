import { type ParseJson, parserOf } from "../../api/exact-integers.ts";
import type { KubeObject } from "../../api/meta.ts";
import { leases, namespaces, nodes, pods, type Resource } from "../../api/resources.ts";
import { isControllerCreated } from "../../api/shape-rules.ts";
import { backslash } from "../../base/json-signs.ts";
import { keepMembers, type MemberFilter, reducedHead } from "./reduce.ts";

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
 * Maximum length of the fields of an object that the agent keeps, in characters of JSON. Parsing and storing an object
 * of this length, or comparing it with a revision, blocks a small board's event loop for up to 40 ms. A DaemonSet that
 * kubectl apply wrote also contains itself as an annotation, so it may have some 150 KiB.
 */
export const maxKeptLength = 384 * 1024;
/**
 * A text longer than this many times the limit is not searched for managedFields, because the search would take as long
 * as storing an object that fits. Pods are always searched, because most of a large pod is not kept, and an unreadable
 * pod would lose its address.
 */
const maxDropped = 2;
/** The kinds by which boards are judged. No tenant writes them. */
const ofSite: readonly string[] = [nodes, leases, namespaces].map(({ kind }) => kind);
export const isOfSite = ({ kind }: Resource<KubeObject>): boolean => ofSite.includes(kind);
/** The identity is first searched for in this many characters, because API servers write it at the beginning. */
const headLength = 4096;

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
  /** Maximum length of the kept fields. */
  readonly longest: number;
  /** A longer text is not searched for fields to drop. */
  readonly longestText: number;
  readonly parse: ParseJson;
}

export const readingForm = (
  resource: Resource<KubeObject>,
  kept: (resource: Resource<KubeObject>) => MemberFilter,
): ReadingForm => {
  const scale = crowdScaleOf(resource);
  const longest = isOfSite(resource) ? Number.POSITIVE_INFINITY : scale * maxKeptLength;
  const longestText = resource.kind === pods.kind ? Number.POSITIVE_INFINITY : maxDropped * longest;
  return { kept: kept(resource), scale, longest, longestText, parse: parserOf(resource) };
};

/**
 * The text to parse: the whole text or, if it exceeds a limit, only its kept fields. If even these exceed a limit,
 * returns that limit.
 */
export function reduceIfCrowded(
  text: string,
  { kept, scale, longest, longestText }: Pick<ReadingForm, "kept" | "scale" | "longest" | "longestText">,
): { readonly text: string } | { readonly crowd: string } {
  const tooLong = `more than ${longest} characters`;
  const crowd = text.length > longest ? tooLong : exceededLimit(text, scale);
  if (crowd === undefined) return { text };
  if (text.length > longestText) return { crowd };
  const part = keepMembers(text, kept);
  if (part === undefined) return { crowd };
  const left = part.length > longest ? tooLong : exceededLimit(part, scale);
  return left === undefined ? { text: part } : { crowd: left };
}

/**
 * The JSON of an object's identity, without reading the whole text if its beginning suffices: searching 1.3 MB takes
 * 20 ms.
 */
export function identityText(text: string, identity: MemberFilter): string | undefined {
  const head = reducedHead(text.slice(0, headLength), identity) ?? "";
  const isWhole = ['"name":', '"uid":', '"resourceVersion":'].every((name) => head.includes(name));
  return isWhole ? head : keepMembers(text, identity);
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
