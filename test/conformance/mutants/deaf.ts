import {
  isJsonObject,
  itemsAt,
  type JsonObject,
  type JsonValue,
  textAt,
  valueAt,
  withMember,
} from "../../../agent/api/json.ts";
import { type Asked, hears, type Mutant, withMetadata } from "./mutant.ts";

const without = (name: string, fits: (asked: Asked) => boolean = () => true): Mutant["made"] =>
  hears((asked) => (asked.query.has(name) && fits(asked) ? { query: { [name]: "" } } : undefined));

const isWatch = ({ isWatch: watches }: Asked): boolean => watches;
const isList = (asked: Asked): boolean => asked.method === "GET" && !asked.isWatch;

const withoutPrecondition = (name: string): Mutant["made"] =>
  hears(({ method, body }) => {
    const options = method === "DELETE" ? body : valueAt(body, "deleteOptions");
    const preconditions = valueAt(options, "preconditions");
    if (!isJsonObject(options) || !isJsonObject(preconditions)) return undefined;
    const partial = { ...options, preconditions: withMember(preconditions, name, undefined) };
    return { body: method === "DELETE" ? partial : { ...body, deleteOptions: partial } };
  });

/** Servers that ignore a part of the request. */
export const deafMutants: readonly Mutant[] = [
  {
    does: "ignores the limit of a list",
    breaks: ["page-size", "page-one-version", "table-pages"],
    made: without("limit"),
  },
  { does: "starts over at every continue token", breaks: ["page-size"], made: without("continue") },
  { does: "ignores label selectors of lists", breaks: ["label-selectors"], made: without("labelSelector", isList) },
  {
    does: "ignores label selectors of watches",
    breaks: ["watch-selected", "watch-initial-selected"],
    made: without("labelSelector", isWatch),
  },
  {
    does: "ignores field selectors of lists",
    breaks: ["field-selectors", "field-selectors-of-boards"],
    made: without("fieldSelector", isList),
  },
  {
    does: "ignores field selectors of watches",
    breaks: ["watch-one", "watch-by-fields"],
    made: without("fieldSelector", isWatch),
  },
  {
    does: "reads != as =",
    breaks: ["label-selectors"],
    made: hears(({ query }) => {
      const labelSelector = query.get("labelSelector") ?? "";
      return labelSelector.includes("!=") ? { query: { labelSelector: labelSelector.replace("!=", "=") } } : undefined;
    }),
  },
  {
    does: "applies only the first of several requirements",
    breaks: ["label-selectors"],
    made: hears(({ query }) => {
      const [first = "", ...more] = (query.get("labelSelector") ?? "").split(/,(?![^()]*\))/);
      return more.length > 0 ? { query: { labelSelector: first } } : undefined;
    }),
  },
  {
    does: "ignores the selector when a collection is deleted",
    breaks: ["delete-collection"],
    made: without("labelSelector", ({ method }) => method === "DELETE"),
  },
  {
    does: "answers an exact version with the newest state",
    breaks: ["version-exact"],
    made: hears(({ query }) =>
      query.get("resourceVersionMatch") === "Exact"
        ? { query: { resourceVersion: "", resourceVersionMatch: "" } }
        : undefined,
    ),
  },
  {
    does: "begins every watch at the newest state",
    breaks: ["watch-late", "watch-from-list", "watch-resume-deleted", "page-then-watch"],
    made: fromNow(),
  },
  {
    does: "begins every watch with the present objects",
    breaks: ["watch-from-object", "watch-resume", "bookmark-position"],
    made: without("resourceVersion", isWatch),
  },
  {
    does: "sends no bookmarks",
    breaks: ["bookmark-position", "bookmark-shape", "bookmark-complete"],
    made: without("allowWatchBookmarks"),
  },
  {
    does: "sends bookmarks without a request",
    breaks: ["bookmark-unasked"],
    made: hears((asked) => (isWatch(asked) ? { query: { allowWatchBookmarks: "true" } } : undefined)),
  },
  { does: "ignores how long a watch may last", breaks: ["watch-ends"], made: without("timeoutSeconds") },
  {
    does: "ignores the uid precondition of a deletion",
    breaks: ["delete-uid", "delete-forced"],
    made: withoutPrecondition("uid"),
  },
  {
    does: "ignores the resourceVersion precondition of a deletion",
    breaks: ["delete-version"],
    made: withoutPrecondition("resourceVersion"),
  },
  {
    does: "ignores the uid precondition of an eviction",
    breaks: ["eviction-options"],
    made: withoutPrecondition("uid"),
  },
  {
    does: "ignores grace periods",
    breaks: ["delete-asked-grace", "delete-shortened"],
    made: hears(({ method, body }) =>
      method === "DELETE"
        ? { query: { gracePeriodSeconds: "" }, body: withMember(body, "gracePeriodSeconds", undefined) }
        : undefined,
    ),
  },
  {
    does: "deletes at once, whatever the grace period",
    breaks: ["delete-grace", "delete-collection-marks", "finalizer-and-grace"],
    made: hears(({ method, body }) => (method === "DELETE" ? { body: { ...body, gracePeriodSeconds: 0 } } : undefined)),
  },
  {
    does: "performs a dry run",
    breaks: ["dry-run", "dry-run-status"],
    made: hears(({ query, body, method }) =>
      query.has("dryRun") || Object.hasOwn(body, "dryRun")
        ? { query: { dryRun: "" }, ...(method === "DELETE" && { body: withMember(body, "dryRun", undefined) }) }
        : undefined,
    ),
  },
  {
    does: "accepts stale updates",
    breaks: [
      "stale-update",
      "stale-update-of-boards",
      "each-fenced",
      "one-winner",
      "lease-taken-over",
      "counted-by-many",
    ],
    made: overwriting(),
  },
  {
    does: "ignores the uid in a write",
    breaks: ["patch-of-another", "update-of-another"],
    made: hears(({ method, body, type }) =>
      method === "PUT" || (method === "PATCH" && type.includes("merge"))
        ? { body: withMetadata(body, (one) => withMember(one, "uid", undefined)) }
        : undefined,
    ),
  },
  {
    does: "generates a name although one is given",
    breaks: ["generate-name-beside"],
    made: hears(({ method, body }) =>
      method === "POST" && textAt(body, "metadata", "generateName") !== ""
        ? { body: withMetadata(body, (one) => withMember(one, "name", undefined)) }
        : undefined,
    ),
  },
  {
    does: "drops the metadata of a status write",
    breaks: ["status-metadata"],
    made: hears(({ method, path, body }) =>
      method === "PATCH" && path.endsWith("/status") ? { body: withMember(body, "metadata", undefined) } : undefined,
    ),
  },
  {
    does: "uses the name prefix as the name",
    breaks: ["generate-name"],
    made: hears(({ method, body }) => {
      const prefix = textAt(body, "metadata", "generateName");
      if (method !== "POST" || prefix === "" || textAt(body, "metadata", "name") !== "") return undefined;
      return { body: withMetadata(body, (one) => ({ ...one, name: `${prefix.slice(0, 62)}x` })) };
    }),
  },
  {
    does: "ignores the target of a binding",
    breaks: ["pod-bound-once"],
    made: hears(({ path, body }) => {
      const name = /([^/]+)\/binding$/.exec(path)?.[1];
      return name === undefined ? undefined : { body: { ...body, metadata: { name } } };
    }),
  },
  {
    does: "lets pods tolerate a silent board without limit",
    breaks: ["tolerations-by-default"],
    made: hears(({ method, path, body }) => {
      if (method !== "POST" || !path.endsWith("/pods")) return undefined;
      const tolerations = [...itemsAt(body, "spec", "tolerations"), { operator: "Exists" }];
      return { body: { ...body, spec: { ...Object(body.spec), tolerations } } };
    }),
  },
  {
    does: "never validates members strictly",
    breaks: ["strict-fields"],
    made: hears(({ query }) => (query.has("fieldValidation") ? { query: { fieldValidation: "Ignore" } } : undefined)),
  },
  {
    does: "deletes objects despite their finalizers",
    breaks: ["finalizer", "finalizer-and-grace"],
    made: hears(({ method, body }) =>
      method === "POST" && itemsAt(body, "metadata", "finalizers").length > 0
        ? { body: withMetadata(body, (one) => withMember(one, "finalizers", undefined)) }
        : undefined,
    ),
  },
  {
    does: "returns whole objects when metadata was requested",
    breaks: ["metadata-only", "lease-metadata"],
    made: accepting("PartialObjectMetadata"),
  },
  { does: "does not serve tables", breaks: ["table", "table-of-boards", "table-watch"], made: accepting("Table") },
  { does: "packs nothing", breaks: ["gzip"], made: (handle) => handle, plainHttp: true },
  { does: "lays nothing out", breaks: ["pretty"], made: without("pretty") },
];

/** Ignores the position of a watch, and does not send the present objects either. */

function fromNow(): Mutant["made"] {
  const query = { resourceVersion: "", sendInitialEvents: "false", resourceVersionMatch: "NotOlderThan" };
  return hears((asked) => (isWatch(asked) && asked.query.has("resourceVersion") ? { query } : undefined));
}

function accepting(form: string): Mutant["made"] {
  return (handle) => (request) => {
    const accept = request.headers.accept ?? "";
    return handle(
      accept.includes(form) ? { ...request, headers: { ...request.headers, accept: "application/json" } } : request,
    );
  };
}

/** Replaces the version that an update names by the current one. */

function overwriting(): Mutant["made"] {
  return (handle) => async (request) => {
    if (request.method !== "PUT") return handle(request);
    const [path = ""] = request.path.split("?");
    const { method: _, body: sent = "{}", ...rest } = request;
    const now = await handle({ ...rest, path: path.replace(/\/status$/, ""), method: "GET" });
    let text = "";
    for await (const part of now.body) text += Buffer.from(part).toString();
    const version = textAt(JSON.parse(text) as JsonValue, "metadata", "resourceVersion");
    const body = JSON.parse(sent) as JsonObject;
    const partial =
      textAt(body, "metadata", "resourceVersion") === ""
        ? body
        : withMetadata(body, (one) => ({ ...one, resourceVersion: version }));
    return handle({ ...request, body: JSON.stringify(partial) });
  };
}
