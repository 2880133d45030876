import type { KubeObject } from "./meta.ts";
import { controllerRevisions, daemonSets, type Resource, resourceName } from "./resources.ts";

declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
    isRawJSON(value: unknown): value is { readonly rawJSON: string };
  }
}

/** Parses JSON; throws a SyntaxError. */
export type ParseJson = (text: string) => unknown;

/** Kinds whose content this program writes back, into pods and revisions of DaemonSets. */
const copied = new Set([resourceName(daemonSets), resourceName(controllerRevisions)]);

/**
 * How the JSON of a kind is parsed. If the content is written back, integers that a JavaScript number would round
 * (int64 beyond 2^53, as in `tolerationSeconds: 9223372036854775807`) are kept as raw JSON, which JSON.stringify writes
 * unchanged. The shape checks leave such values only in templates and in the data of revisions.
 */
export const parserOf = (resource: Resource<KubeObject>): ParseJson =>
  copied.has(resourceName(resource)) ? parseExactly : parsePlainly;

const parsePlainly: ParseJson = (text) => JSON.parse(text);

/**
 * Matches every integer that may be unsafe, and by chance some digits in strings. Takes linear time: no two attempts
 * read the same digits.
 */
const largeInteger = /[:,[]\s*-?\d{16}/;

/**
 * Maximum number of values: beyond it, JSON is parsed without a reviver, because calling one for this many values takes
 * 20 ms.
 */
const maxRevived = 20_000;

const parseExactly: ParseJson = (text) =>
  largeInteger.test(text) && !hasMoreCommas(text, maxRevived) ? JSON.parse(text, kept) : JSON.parse(text);

function hasMoreCommas(text: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf(","); at >= 0; at = text.indexOf(",", at + 1)) if (++count > most) return true;
  return false;
}

const kept = (_: string, value: unknown, { source }: { readonly source?: string }): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? JSON.rawJSON(source)
    : value;

/**
 * Whether the value is an integer that is kept as raw JSON. It is a JavaScript object, but not an object of the
 * document.
 */
export const isRawInteger = (value: unknown): value is { readonly rawJSON: string } => JSON.isRawJSON(value);
