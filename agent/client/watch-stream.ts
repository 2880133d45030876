import type { KubeObject } from "../api/meta.ts";
import { parseIdentity, parseObject, resourceVersionOf, strangerThan } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import { isFields } from "../api/shape-rules.ts";
import type { ApiError, Attempt } from "./api-error.ts";
import { isCrowded, mostMembers } from "./crowded.ts";
import { Scratch } from "./scratch.ts";
import { brokenOffWith } from "./status-document.ts";

/**
 * An event of a watch. REJECTED: it cannot be used, and a retry would not help; `resourceVersion` is its own if it has
 * one, and undefined if its object is of another kind, whose version is not a position of this watch. UNREADABLE: a
 * line that is not an event. It may have replaced any event, even a deletion, so the reader has to request it again.
 */
export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string }
  | { readonly type: "ERROR"; readonly error: ApiError }
  | { readonly type: "REJECTED"; readonly why: string; readonly resourceVersion: string | undefined }
  | { readonly type: "UNREADABLE"; readonly why: string };

/** In bytes. A longer line is skipped, not buffered: etcd takes 1.5 MiB by default, so no honest event is longer. */
const longestLine = 8 * 1024 * 1024;
/** The part of a skipped line that is searched for its resourceVersion. */
const headOfLine = 4096;
const newline = 0x0a;

/** `metadataOnly`: partial metadata was requested, which arrives under its own kind. */
export interface Watched<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly metadataOnly?: boolean | undefined;
}

/** Yields events, one JSON document per line. Ends when the stream ends, throws what the stream throws. */
export async function* watchEvents<T extends KubeObject>(
  body: AsyncIterable<Uint8Array>,
  watched: Watched<T>,
  attempt: Attempt,
): AsyncGenerator<WatchEvent<T>, void, void> {
  const scratch = new Scratch();
  /** The head of a line too long to buffer, until its end is seen. */
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
      const line = lineOf(scratch, rest);
      if (line !== "") yield eventOf(line, watched, attempt);
    }
    if (skipped !== undefined) continue;
    scratch.append(bytes.subarray(from));
    if (scratch.length > longestLine) {
      skipped = scratch.text(0, headOfLine);
      scratch.clear();
    }
  }
  if (skipped !== undefined) yield tooLong(skipped, watched);
  const last = scratch.text().trim();
  if (last !== "") yield eventOf(last, watched, attempt);
}

/** Most lines lie within one chunk and are read from there. */
function lineOf(scratch: Scratch, rest: Buffer): string {
  if (scratch.length === 0) return rest.toString("utf8").trim();
  scratch.append(rest);
  const line = scratch.text().trim();
  scratch.clear();
  return line;
}

function eventOf<T extends KubeObject>(line: string, watched: Watched<T>, attempt: Attempt): WatchEvent<T> {
  if (isCrowded(line))
    return rejected(`an event of more than ${mostMembers} members`, versionIn(line.slice(0, headOfLine), watched));
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    return { type: "UNREADABLE", why: `a line of ${line.length} characters that is no JSON` };
  }
  if (!isFields(event)) return { type: "UNREADABLE", why: "a line that is no event" };
  const { type, object } = event;
  if (type === "ERROR") return { type, error: brokenOffWith(attempt, object) };
  const stranger = isFields(object) ? strangerThan(object, watched.resource, watched.metadataOnly === true) : undefined;
  return stranger === undefined ? ownEvent(type, object, watched) : rejected(stranger, undefined);
}

/** For an event whose object is of the watched kind, or names no kind. */
function ownEvent<T extends KubeObject>(type: unknown, object: unknown, { resource }: Watched<T>): WatchEvent<T> {
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED": {
      const parsed = parseObject(object, resource);
      if (parsed.ok) return { type, object: parsed.object };
      // Of a deleted object only its identity is read.
      const gone = type === "DELETED" ? parseIdentity(object, resource) : undefined;
      return gone === undefined ? rejected(parsed.why, parsed.resourceVersion) : { type, object: gone };
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

const tooLong = (head: string, watched: Watched<KubeObject>): WatchEvent<never> =>
  rejected(`an event of more than ${longestLine} bytes`, versionIn(head, watched));

const rejected = (why: string, resourceVersion: string | undefined): WatchEvent<never> => ({
  type: "REJECTED",
  why,
  resourceVersion,
});

/** From the head of a line. Its first kind is the object's: everything that a tenant may write comes later. */
function versionIn(head: string, { resource, metadataOnly }: Watched<KubeObject>): string | undefined {
  const kind = /"kind"\s*:\s*"([^"\\]{1,64})"/.exec(head)?.[1];
  if (strangerThan({ kind }, resource, metadataOnly === true) !== undefined) return undefined;
  return /"resourceVersion"\s*:\s*"([^"\\]{1,64})"/.exec(head)?.[1];
}
