import {
  isJsonObject,
  itemsAt,
  type JsonObject,
  type JsonValue,
  textAt,
  valueAt,
  withMember,
} from "../../../agent/api/json.ts";
import type { ApiRequest, ApiResponse } from "../../../simulator/site-api/requests/exchange.ts";
import type { Handle } from "../embedded-server.ts";
import { type Asked, type Mutant, meddles, parsed, says, textOf } from "./mutant.ts";

/** Sends another request on behalf of the client. */
async function also(
  handle: Handle,
  { signal }: ApiRequest,
  method: string,
  path: string,
  body?: JsonValue,
  type = "application/json",
): Promise<JsonObject> {
  const headers = { "content-type": type, accept: "application/json" };
  const request = { method, path, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = parsed(await textOf(await handle(request)));
  return isJsonObject(answer) ? answer : {};
}

const merge = "application/merge-patch+json";

const isMain = ({ path }: Asked): boolean => !/\/(status|eviction|binding|scale)$/.test(path);

/** Performs an extra act before the correct answer. */
const before = (
  fits: (asked: Asked) => boolean,
  more: (handle: Handle, request: ApiRequest, asked: Asked) => Promise<unknown>,
): Mutant["made"] =>
  meddles(async (handle, request, asked): Promise<ApiResponse> => {
    if (fits(asked)) await more(handle, request, asked);
    return handle(request);
  });

/** The part of a body that a patch may carry. */
const partOf = (body: JsonObject, name: string): JsonObject => {
  const value = valueAt(body, name);
  return value === undefined ? {} : { [name]: value };
};

const isWriteOf = ({ method }: Asked): boolean => method === "PUT" || method === "PATCH";

/** Servers that act differently from the request. */
export const meddlingMutants: readonly Mutant[] = [
  {
    does: "writes the spec with the status",
    breaks: ["status-by-status", "status-of-boards"],
    made: before(
      (asked) => isWriteOf(asked) && asked.path.endsWith("/status") && !asked.type.includes("json-patch"),
      (handle, request, { path, body }) =>
        also(handle, request, "PATCH", path.replace(/\/status$/, ""), partOf(body, "spec"), merge),
    ),
  },
  {
    does: "writes the status with the spec",
    breaks: ["status-not-by-update", "status-of-boards"],
    made: before(
      (asked) =>
        isWriteOf(asked) && isMain(asked) && !asked.type.includes("json-patch") && asked.body.status !== undefined,
      (handle, request, { path, body }) =>
        also(handle, request, "PATCH", `${path}/status`, partOf(body, "status"), merge),
    ),
  },
  {
    does: "creates a missing object by an update",
    breaks: ["update-of-nothing"],
    made: before(
      ({ method, path }) => method === "PUT" && /configmaps\/[^/]+$/.test(path),
      (handle, request, { path, body }) => also(handle, request, "POST", path.replace(/\/[^/]+$/, ""), body),
    ),
  },
  {
    does: "replaces an existing object of the same name",
    breaks: ["name-taken", "one-creator"],
    made: before(
      ({ method, path }) => method === "POST" && isCollection(path),
      async (handle, request, { path, body }) => {
        const name = textAt(body, "metadata", "name");
        if (name !== "") await also(handle, request, "DELETE", `${path}/${name}`, { gracePeriodSeconds: 0 });
      },
    ),
  },
  {
    does: "evicts despite a disruption budget",
    breaks: ["eviction-refused", "eviction-counted", "eviction-unjudged", "eviction-two-budgets"],
    made: meddles(async (handle, request, { path }) => {
      if (!path.endsWith("/eviction")) return handle(request);
      const pods = path.replace(/\/[^/]+\/eviction$/, "");
      const budgets = pods.replace("/api/v1/", "/apis/policy/v1/").replace(/pods$/, "poddisruptionbudgets");
      await also(handle, request, "DELETE", budgets);
      return handle(request);
    }),
  },
  {
    does: "does not count evictions",
    breaks: ["eviction-counted"],
    made: meddles(async (handle, request, { path }) => {
      const response = await handle(request);
      if (!path.endsWith("/eviction") || response.status !== 201) return response;
      const budgets = `${path.replace("/api/v1/", "/apis/policy/v1/").replace(/pods\/.*$/, "poddisruptionbudgets")}/web`;
      await also(
        handle,
        request,
        "PATCH",
        `${budgets}/status`,
        { status: { disruptionsAllowed: 1, disruptedPods: null } },
        merge,
      );
      return response;
    }),
  },
  {
    does: "evicts without a condition",
    breaks: ["eviction"],
    made: meddles(async (handle, request, { path, body }) => {
      if (!path.endsWith("/eviction")) return handle(request);
      const options = valueAt(body, "deleteOptions");
      await also(
        handle,
        request,
        "DELETE",
        path.replace(/\/eviction$/, ""),
        isJsonObject(options) ? options : undefined,
      );
      return handle({ ...request, path: `${path}?dryRun=All` });
    }),
  },
  {
    does: "removes a pod at the second deletion with a grace period",
    breaks: ["delete-shortened"],
    made: meddles(async (handle, request, asked) => {
      if (asked.method !== "DELETE") return handle(request);
      const now = await also(handle, request, "GET", asked.path);
      const isMarked = textAt(now, "metadata", "deletionTimestamp") !== "";
      return handle(isMarked ? { ...request, body: JSON.stringify({ gracePeriodSeconds: 0 }) } : request);
    }),
  },
  {
    does: "keeps an object after its last finalizer is removed",
    breaks: ["finalizer", "finalizer-and-grace"],
    made: meddles((handle, request, { method, body }) => {
      const drops = method === "PATCH" && valueAt(body, "metadata", "finalizers") === null;
      return handle(
        drops ? { ...request, body: JSON.stringify({ metadata: { finalizers: ["siteward.test/other"] } }) } : request,
      );
    }),
  },
  {
    does: "waits with the deletion of unbound pods",
    breaks: ["delete-unbound"],
    made: meddles(async (handle, request, { method, path }) => {
      if (method !== "DELETE" || !path.includes("/pods/")) return handle(request);
      await also(handle, request, "PATCH", path, { metadata: { finalizers: ["siteward.test/other"] } }, merge);
      return handle(request);
    }),
  },
  {
    does: "continues a list in the newest state",
    breaks: ["page-one-version"],
    made: meddles((handle, request, { query, path }) => {
      const token = parsed(Buffer.from(query.get("continue") ?? "", "base64url").toString());
      if (!isJsonObject(token)) return handle(request);
      query.set("continue", Buffer.from(JSON.stringify({ ...token, at: -1 })).toString("base64url"));
      return handle({ ...request, path: `${path}?${query}` });
    }),
  },
  {
    does: "applies half of a JSON patch that fails",
    breaks: ["json-patch-test"],
    made: meddles(async (handle, request, { method, path, type }) => {
      if (method !== "PATCH" || !type.includes("json-patch")) return handle(request);
      const [first] = JSON.parse(request.body ?? "[]") as readonly JsonObject[];
      await also(handle, request, "PATCH", path, first === undefined ? [] : [first], type);
      return handle(request);
    }),
  },
  {
    does: "writes the spec with a JSON patch of the status",
    breaks: ["status-by-json-patch"],
    made: meddles(async (handle, request, { path, type }) => {
      const response = await handle(request);
      if (path.endsWith("/status") && type.includes("json-patch")) {
        const deadline = { spec: { activeDeadlineSeconds: 5 } };
        await also(handle, request, "PATCH", path.replace(/\/status$/, ""), deadline, merge);
      }
      return response;
    }),
  },
  {
    does: "applies the operations of a JSON patch backwards",
    breaks: ["json-patch", "json-patch-lists"],
    made: meddles((handle, request, { type }) => {
      if (!type.includes("json-patch")) return handle(request);
      const operations = JSON.parse(request.body ?? "[]") as readonly JsonObject[];
      return handle({ ...request, body: JSON.stringify(operations.toReversed()) });
    }),
  },
  {
    does: "appends to a list instead of replacing it",
    breaks: ["merge-patch-lists", "strategic-atomic"],
    made: meddles(async (handle, request, { method, path, body }) => {
      const taints = itemsAt(body, "spec", "taints");
      if (method !== "PATCH" || taints.length === 0) return handle(request);
      const now = await also(handle, request, "GET", path);
      const known = itemsAt(now, "spec", "taints");
      return handle({ ...request, body: JSON.stringify({ ...body, spec: { taints: [...known, ...taints] } }) });
    }),
  },
  {
    does: "loses concurrent patches",
    breaks: ["patched-by-many"],
    made: meddles(async (handle, request, { method, path, body }) => {
      if (method !== "PATCH" || body.data === undefined) return handle(request);
      const now = await also(handle, request, "GET", path);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const data = { ...Object(now.data), ...Object(body.data) };
      const object = { ...now, metadata: { name: textAt(now, "metadata", "name") }, data };
      const { "content-type": _, ...headers } = request.headers;
      return handle({ ...request, method: "PUT", headers, body: JSON.stringify(object) });
    }),
  },
  {
    does: "keeps unknown members",
    breaks: ["strict-fields"],
    made: says((body, asked, status) => {
      const chair = valueAt(asked.body, "spec", "chair");
      return chair === undefined || status !== 201
        ? undefined
        : { body: { ...body, spec: { ...Object(body.spec), chair } } };
    }),
  },
  {
    does: "omits a namespace's name from its labels",
    breaks: ["namespace"],
    made: says((body) =>
      body.kind === "Namespace"
        ? { body: { ...body, metadata: withMember(Object(body.metadata), "labels", undefined) } }
        : undefined,
    ),
  },
];

const isCollection = (path: string): boolean => /\/(configmaps|leases|pods)$/.test(path);
