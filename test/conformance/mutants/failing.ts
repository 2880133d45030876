import { type JsonObject, withMember } from "../../../agent/api/json.ts";
import { type Asked, asked, isSuccess, type Mutant, says } from "./mutant.ts";

/** Replaces failures with this code by another answer. */
const insteadOf = (
  code: number,
  said: (body: JsonObject, asked: Asked) => { status?: number; body?: JsonObject } | undefined,
): Mutant["made"] => says((body, asked, status) => (status === code ? said(body, asked) : undefined));

const succeeded = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };

/** Servers that refuse valid requests, accept invalid ones, or report failures wrongly. */
export const failingMutants: readonly Mutant[] = [
  {
    does: "begins watches despite invalid parameters",
    breaks: ["watch-refused"],
    made: (handle) => async (request) => {
      const response = await handle(request);
      return asked(request).isWatch ? { ...response, status: 200 } : response;
    },
  },
  {
    does: "refuses parameters of a content type",
    breaks: ["content-type-parameters"],
    made: says((_, { type }) => (type.includes(";") ? { status: 415 } : undefined)),
  },
  {
    does: "reads no YAML",
    breaks: ["yaml"],
    made: says((_, { type }) => (type.includes("yaml") ? { status: 415 } : undefined)),
  },
  {
    does: "refuses every eviction",
    breaks: ["eviction", "eviction-others", "eviction-of-ended"],
    made: says((_, { path }) => (path.endsWith("/eviction") ? { status: 429 } : undefined)),
  },
  {
    does: "creates no Lease by an update",
    breaks: ["lease-by-update"],
    made: says((_, { method, path }, status) =>
      method === "PUT" && path.includes("/leases/") && status === 201 ? { status: 404 } : undefined,
    ),
  },
  {
    does: "accepts impossible strategic-merge patches",
    breaks: ["strategic-wrong"],
    made: says((_, { type }) => (type.includes("strategic") ? { status: 200 } : undefined)),
  },
  {
    does: "reports success for a refused stale write",
    breaks: ["stale-update", "one-winner", "stale-patch", "one-creator", "name-taken", "delete-uid", "delete-version"],
    made: insteadOf(409, (_, asked) => ({ status: 200, body: asked.method === "DELETE" ? succeeded : asked.body })),
  },
  {
    does: "reports a conflict for a performed write",
    breaks: ["stale-update", "update-unconditional"],
    made: says((_, { method }, status) =>
      method === "PUT" && status === 200
        ? { status: 409, body: { ...succeeded, status: "Failure", reason: "Conflict", code: 409, message: "no" } }
        : undefined,
    ),
  },
  {
    does: "calls a conflict AlreadyExists",
    breaks: ["stale-update"],
    made: insteadOf(409, (body) => ({ body: { ...body, reason: "AlreadyExists" } })),
  },
  {
    does: "reports an existing object as a conflict",
    breaks: ["one-creator", "name-taken"],
    made: insteadOf(409, (body) => ({ body: { ...body, reason: "Conflict" } })),
  },
  {
    does: "answers 409 for an invalid object",
    breaks: ["name-needed", "name-form", "invalid"],
    made: insteadOf(422, (body) => ({ status: 409, body: { ...body, code: 409 } })),
  },
  {
    does: "omits the reasons of failures",
    breaks: ["not-found", "stale-update", "version-too-large"],
    made: says((body, _, status) => (isSuccess(status) ? undefined : { body: withMember(body, "reason", undefined) })),
  },
  {
    does: "omits the details of failures",
    breaks: ["not-found", "invalid", "version-too-large", "eviction-refused"],
    made: says((body, _, status) => (isSuccess(status) ? undefined : { body: withMember(body, "details", undefined) })),
  },
  {
    does: "reports failures with status 200",
    breaks: ["not-found", "unreadable", "method-not-allowed", "no-such-resource"],
    made: says((body, _, status) => (isSuccess(status) ? undefined : { status: 200, body })),
  },
  {
    does: "answers with an empty list when history is compacted",
    breaks: ["expired-exact", "expired-continue"],
    made: insteadOf(410, () => ({
      status: 200,
      body: { kind: "EventList", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [] },
    })),
  },
  {
    does: "offers no token to continue with when history is compacted",
    breaks: ["expired-continue"],
    made: insteadOf(410, (body) => ({ body: { ...body, metadata: {} } })),
  },
  {
    does: "returns its current state when a later version is requested",
    breaks: ["version-too-large"],
    made: insteadOf(504, () => ({
      status: 200,
      body: { kind: "LeaseList", apiVersion: "coordination.k8s.io/v1", metadata: { resourceVersion: "1" }, items: [] },
    })),
  },
  {
    does: "answers 500 when a later version is requested",
    breaks: ["version-too-large"],
    made: insteadOf(504, (body) => ({ status: 500, body: { ...body, code: 500 } })),
  },
  {
    does: "refuses evictions without the cause",
    breaks: ["eviction-refused"],
    made: insteadOf(429, (body) => ({ body: { ...body, details: {} } })),
  },
  {
    does: "refuses evictions with 403",
    breaks: ["eviction-refused", "eviction-counted", "eviction-unjudged"],
    made: insteadOf(429, (body) => ({ status: 403, body: { ...body, code: 403, reason: "Forbidden" } })),
  },
  {
    does: "accepts malformed input",
    breaks: [
      "unreadable",
      "field-types",
      "label-selectors-wrong",
      "field-selectors-wrong",
      "page-token-unknown",
      "page-token-with-version",
      "patch-unreadable",
      "version-unreadable",
      "data-form",
      "name-in-the-path",
      "version-on-create",
    ],
    made: insteadOf(400, (body) => ({ status: 200, body })),
  },
  {
    does: "accepts invalid objects",
    breaks: [
      "name-form",
      "labels-form",
      "patch-checked",
      "patch-types",
      "taints-checked",
      "tolerations-checked",
      "pod-frozen",
      "lease-checked",
      "finalizer-late",
      "version-match",
      "json-patch-impossible",
      "namespace",
      "delete-owned",
    ],
    made: insteadOf(422, (_, asked) => ({ status: asked.method === "POST" ? 201 : 200, body: asked.body })),
  },
  {
    does: "finds everything",
    breaks: [
      "update-of-nothing",
      "patch-of-nothing",
      "eviction-of-nothing",
      "namespace-missing",
      "status-of-none",
      "delete",
    ],
    made: insteadOf(404, (_, asked) => ({ status: asked.method === "POST" ? 201 : 200, body: asked.body })),
  },
  {
    does: "allows every method",
    breaks: ["method-not-allowed"],
    made: insteadOf(405, () => ({ status: 200, body: succeeded })),
  },
  {
    does: "accepts bodies of any size",
    breaks: ["too-large"],
    plainHttp: true,
    made: insteadOf(413, () => ({ status: 201, body: succeeded })),
  },
  {
    does: "accepts every Accept",
    breaks: ["not-acceptable"],
    made: insteadOf(406, () => ({ status: 200, body: succeeded })),
  },
  {
    does: "creates objects in a terminating namespace",
    breaks: ["namespace-terminating", "namespaces-at-start"],
    made: insteadOf(403, (_, asked) => ({ status: asked.method === "POST" ? 201 : 200, body: asked.body })),
  },
];
