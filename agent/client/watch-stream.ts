import type { KubeObject } from "../api/meta.ts";
import { kindMismatch, nameOf, parseIdentity, parseObject, resourceVersionOf } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import { isFields } from "../api/shape-rules.ts";
import type { ApiError, Attempt } from "./api-error.ts";
import { identityText, type ReadingForm, readingForm, reduceIfCrowded } from "./decoding/crowded.ts";
import { jsonIn } from "./decoding/item-run.ts";
import { identityInEvent, keptInEvent } from "./decoding/members.ts";
import { reducedHead } from "./decoding/reduce.ts";
import { Scratch } from "./decoding/scratch.ts";
import { brokenOffWith } from "./status-document.ts";

/**
 * An event of a watch.
 *
 * DELETED with `isBare`: only the object's name, namespace, uid and resourceVersion could be read, which is enough.
 * REJECTED: the event cannot be used, and would be the same after a retry; `resourceVersion` is the watch's position
 * after it, undefined if unknown or if the object is of another kind. `identity` is the object's, if it exists in a
 * state that cannot be read. UNREADABLE: the line is not an event, or does not show which object it concerns. It may be
 * any event, even a deletion, so the reader must request it again.
 */
export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED"; readonly object: T }
  | { readonly type: "DELETED"; readonly object: T; readonly isBare?: boolean }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  | { readonly type: "ERROR"; readonly error: ApiError }
  | {
      readonly type: "REJECTED";
      readonly why: string;
      readonly resourceVersion: string | undefined;
      readonly identity?: T | undefined;
    }
  | { readonly type: "UNREADABLE"; readonly why: string };

/**
 * Maximum length of a line, in bytes. Only the beginning of a longer line is kept, which contains the object's
 * identity; etcd's own limit is 1.5 MiB by default.
 */
const maxLineLength = 8 * 1024 * 1024;
/**
 * In characters. If a line is too long, only this much at its beginning is searched for the event's type and the
 * object's identity.
 */
const headOfLine = 4096;
const newline = 0x0a;
const nothing = Buffer.alloc(0);

/** `metadataOnly`: partial metadata was requested, whose kind is PartialObjectMetadata. */
export interface WatchTarget<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly metadataOnly?: boolean | undefined;
}

/** Yields the events of a stream with one JSON document per line. Ends with the stream and throws its errors. */
export async function* watchEvents<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
  watched: WatchTarget<T>,
  attempt: Attempt,
): AsyncGenerator<WatchEvent<T>, void, void> {
  const scratch = new Scratch();
  const form = readingForm(watched.resource, keptInEvent);
  /** The beginning of a line that is too long, while the rest of it is skipped. */
  let skipped: string | undefined;
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    let from = 0;
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, from)) {
      const rest = bytes.subarray(from, at);
      from = at + 1;
      if (skipped !== undefined) {
        yield tooLong(skipped, watched);
        skipped = undefined;
        continue;
      }
      const event = eventIn(rest);
      if (event !== undefined) yield event;
    }
    if (skipped !== undefined) continue;
    scratch.append(bytes.subarray(from));
    if (scratch.length > maxLineLength) {
      skipped = scratch.text(0, headOfLine);
      scratch.clear();
    }
  }
  if (skipped !== undefined) yield tooLong(skipped, watched);
  const last = eventIn(nothing);
  if (last !== undefined) yield last;

  /**
   * The event of the line that ends with `rest`; undefined if the line is empty. A separate function, because a
   * variable of the generator would retain the line while waiting for the next one.
   */
  function eventIn(rest: Buffer): WatchEvent<T> | undefined {
    const line = lineOf(scratch, rest);
    return line === "" ? undefined : eventOf(line, form, watched, attempt);
  }
}

/** The line that ends with `rest`. A line within one chunk is not copied to `scratch`. */
function lineOf(scratch: Scratch, rest: Buffer): string {
  if (scratch.length === 0) return rest.toString("utf8").trim();
  scratch.append(rest);
  const line = scratch.text().trim();
  scratch.clear();
  return line;
}

function eventOf<T extends KubeObject>(
  line: string,
  form: ReadingForm,
  watched: WatchTarget<T>,
  attempt: Attempt,
): WatchEvent<T> {
  const read = reduceIfCrowded(line, form);
  if ("crowd" in read) return unusable(`an event of ${read.crowd}`, identityText(line, identityInEvent), watched);
  let event: unknown;
  try {
    event = form.parse(read.text);
  } catch {
    return { type: "UNREADABLE", why: `a line of ${line.length} characters that is not JSON` };
  }
  if (!isFields(event)) return { type: "UNREADABLE", why: "a line that is not an event" };
  const { type, object } = event;
  if (type === "ERROR") return { type, error: brokenOffWith(attempt, object) };
  const mismatch = isFields(object) ? kindMismatch(object, watched.resource, watched.metadataOnly === true) : undefined;
  return mismatch === undefined ? ownEvent(type, object, watched) : rejected(mismatch, undefined);
}

/** The event if its object is of the watched kind, or names no kind. */
function ownEvent<T extends KubeObject>(type: unknown, object: unknown, { resource }: WatchTarget<T>): WatchEvent<T> {
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const parsed = parseObject(object, resource);
      if (parsed.ok) return { type, object: parsed.object };
      const identity = parseIdentity(object, resource);
      if (type === "DELETED" && identity !== undefined) return { type, object: identity, isBare: true };
      return rejected(parsed.why, parsed.resourceVersion, identity);
    }
    case "BOOKMARK": {
      const resourceVersion = resourceVersionOf(object);
      return resourceVersion === undefined
        ? rejected("a bookmark without resourceVersion", undefined)
        : { type, resourceVersion };
    }
    default: {
      const named = typeof type === "string" ? `of type ${type.slice(0, 63)}` : "without a type";
      return rejected(`an event ${named}`, resourceVersionOf(object));
    }
  }
}

const tooLong = <T extends KubeObject>(head: string, watched: WatchTarget<T>): WatchEvent<T> =>
  unusable(`an event of more than ${maxLineLength} bytes`, reducedHead(head, identityInEvent), watched);

/**
 * The event of a line that is not parsed as a whole. `text`: its type and the object's identity, if they were found.
 */
function unusable<T extends KubeObject>(
  why: string,
  text: string | undefined,
  { resource, metadataOnly }: WatchTarget<T>,
): WatchEvent<T> {
  const event = jsonIn(text ?? "");
  if (!isFields(event) || !isFields(event.object)) return { type: "UNREADABLE", why };
  const { type, object } = event;
  const mismatch = kindMismatch(event.object, resource, metadataOnly === true);
  if (mismatch !== undefined) return rejected(`${mismatch}: ${why}`, undefined);
  const identity = parseIdentity(object, resource);
  if (identity === undefined || !["ADDED", "MODIFIED", "DELETED"].includes(String(type))) {
    return { type: "UNREADABLE", why };
  }
  if (type === "DELETED") return { type, object: identity, isBare: true };
  return rejected(`${nameOf(event.object, resource)}: ${why}`, identity.metadata.resourceVersion, identity);
}

const rejected = <T extends KubeObject>(
  why: string,
  resourceVersion: string | undefined,
  identity?: T,
): WatchEvent<T> => ({ type: "REJECTED", why, resourceVersion, ...(identity && { identity }) });
