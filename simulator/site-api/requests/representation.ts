import type { Millis } from "../../../agent/base/clock.ts";
import { type Column, plainColumns } from "../columns/column.ts";
import type { Entry } from "../objects/object.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import { badRequest, notAcceptable } from "./failure.ts";

/** The requested form of objects: whole, metadata only, or as rows of a table. */
export interface Representation {
  /** A complete document: a response, or the object of a watch event. */
  one(entry: Entry): string;
  /** A list up to its first item; items are separated by commas and followed by `]}`. */
  listHead(metadata: string): string;
  item(entry: Entry): string;
  /** The object of a BOOKMARK event. */
  bookmark(revision: number, initialEventsEnd: boolean): string;
}

const meta = { group: "meta.k8s.io", version: "v1" };
const offered = ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"];

/**
 * The representation that the Accept header requests. Throws a Failure if none of the header's types is served, for
 * example if it accepts only protobuf.
 */
export function representationFor(
  kind: ServedKind,
  accept: string,
  query: URLSearchParams,
  wall: () => Millis,
): Representation {
  for (const { type, parameters } of mediaRanges(accept)) {
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const form = parameters.get("as");
    if (form === undefined) return wholeObjects(kind);
    if (parameters.get("g") !== meta.group || parameters.get("v") !== meta.version) continue;
    if (form === "PartialObjectMetadata" || form === "PartialObjectMetadataList") return metadataOnly;
    if (form === "Table") return tableOf(kind, query.get("includeObject") ?? "Metadata", wall);
  }
  throw notAcceptable(offered);
}

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The ranges of an Accept header, most preferred first; without a header, anything is accepted. */
export function mediaRanges(accept: string): readonly MediaRange[] {
  const ranges = (accept.trim() === "" ? "*/*" : accept).split(",").map((range) => {
    const [type = "", ...rest] = range.split(";").map((part) => part.trim());
    const parameters = rest.map((part): [string, string] => {
      const [name = "", value = ""] = part.split("=");
      return [name.trim().toLowerCase(), value.trim()];
    });
    return { type: type.toLowerCase(), parameters: new Map(parameters) };
  });
  const weight = ({ parameters }: MediaRange): number => Number(parameters.get("q") ?? 1);
  return ranges.sort((a, b) => weight(b) - weight(a));
}

const headed = (kind: string, apiVersion: string, rest: string): string =>
  `{"kind":"${kind}","apiVersion":"${apiVersion}",${rest}`;

const bookmarkMetadata = (revision: number, initialEventsEnd: boolean): object => ({
  resourceVersion: String(revision),
  ...(initialEventsEnd && { annotations: { "k8s.io/initial-events-end": "true" } }),
});

function wholeObjects(kind: ServedKind): Representation {
  const apiVersion = apiVersionOf(kind);
  return {
    one: ({ text }) => headed(kind.kind, apiVersion, text.slice(1)),
    listHead: (metadata) => headed(`${kind.kind}List`, apiVersion, `"metadata":${metadata},"items":[`),
    // The items of a list carry neither kind nor apiVersion, as on a real API server.
    item: ({ text }) => text,
    bookmark: (revision, end) =>
      headed(kind.kind, apiVersion, `"metadata":${JSON.stringify(bookmarkMetadata(revision, end))}}`),
  };
}

const partial = ({ object }: Entry): object => ({
  kind: "PartialObjectMetadata",
  apiVersion: apiVersionOf(meta),
  metadata: object.metadata,
});

const metadataOnly: Representation = {
  one: (entry) => JSON.stringify(partial(entry)),
  listHead: (metadata) => headed("PartialObjectMetadataList", apiVersionOf(meta), `"metadata":${metadata},"items":[`),
  item: (entry) => JSON.stringify(partial(entry)),
  bookmark: (revision, end) =>
    headed(
      "PartialObjectMetadata",
      apiVersionOf(meta),
      `"metadata":${JSON.stringify(bookmarkMetadata(revision, end))}}`,
    ),
};

/** A stream of tables defines the columns once; later tables omit them. */
function tableOf(kind: ServedKind, include: string, wall: () => Millis): Representation {
  const columns: readonly Column[] = kind.columns ?? plainColumns;
  if (include !== "Metadata" && include !== "Object" && include !== "None") {
    throw badRequest(`includeObject must be None, Metadata or Object, not ${JSON.stringify(include)}`);
  }
  const definitions = JSON.stringify(
    columns.map(({ name, type, isName, description, wide }) => ({
      name,
      type,
      format: isName ? "name" : "",
      description,
      priority: wide ? 1 : 0,
    })),
  );
  const whole = wholeObjects(kind);
  const row = (entry: Entry): string => {
    const now = wall();
    const cells = JSON.stringify(columns.map(({ cell }) => cell(entry.object, now)));
    const object = include === "None" ? "null" : include === "Metadata" ? metadataOnly.one(entry) : whole.one(entry);
    return `{"cells":${cells},"object":${object}}`;
  };
  const table = (metadata: string, rows: string): string =>
    headed("Table", apiVersionOf(meta), `"metadata":${metadata},"columnDefinitions":${rows}`);
  let defined = false;
  return {
    one: (entry) => {
      const columnsOnce = defined ? "null" : definitions;
      defined = true;
      return table(`{"resourceVersion":"${entry.revision}"}`, `${columnsOnce},"rows":[${row(entry)}]}`);
    },
    listHead: (metadata) => table(metadata, `${definitions},"rows":[`),
    item: row,
    bookmark: (revision, end) => table(JSON.stringify(bookmarkMetadata(revision, end)), `null,"rows":[]}`),
  };
}
