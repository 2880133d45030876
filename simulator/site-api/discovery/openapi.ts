import { servedKinds } from "../served.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import { schemaName, schemasOf } from "./openapi-schemas.ts";

const info = { title: "siteward embedded site", version: "1.36" };

const groupVersionPath = ({ group, version }: ServedKind): string =>
  group === "" ? `api/${version}` : `apis/${group}/${version}`;

const paths = [...new Set(servedKinds.map(groupVersionPath))];

/** Path of the document of each group and version. */
export const openApiIndex = {
  paths: Object.fromEntries(paths.map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}` }])),
};

/**
 * The document of one group and version ("apis/apps/v1"), undefined if that is not served. It lists kinds with their
 * fields, paths and parameters. It has no merge keys, so it does not offer strategic merge patch although the server
 * supports it: a client that read the keys from this document would find none, whereas it should use its built-in ones.
 */
export function openApiDocument(path: string): object | undefined {
  const kinds = servedKinds.filter((kind) => groupVersionPath(kind) === path);
  if (kinds.length === 0) return undefined;
  return {
    openapi: "3.0.0",
    info,
    paths: Object.fromEntries(kinds.flatMap(pathsOf)),
    components: { schemas: schemasOf(kinds) },
  };
}

/**
 * The OpenAPI 2 document, for clients that do not know a later form. It has the same kinds without their fields, so
 * that any field is accepted.
 */
export const openApiV2 = (): object => ({
  swagger: "2.0",
  info,
  paths: {},
  definitions: Object.fromEntries(servedKinds.map((kind) => [schemaName(kind), undescribed(kind)])),
});

/** The OpenAPI 2 document as protobuf, without kinds, because clients do not validate a kind that is not described. */
export const openApiV2Protobuf = (): string =>
  textField(1, "2.0") + textField(2, textField(1, info.title) + textField(2, info.version));

/** A field of a protobuf message, for short ASCII strings only, because its number and length take one byte each. */
const textField = (number: number, text: string): string => String.fromCharCode(number * 8 + 2, text.length) + text;

const preserved = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const undescribed = (kind: ServedKind): object => ({
  description: `${kind.kind}, served by an embedded site. Its fields are those of Kubernetes ${apiVersionOf(kind)}; they are not described here.`,
  ...preserved,
  properties: {
    apiVersion: { type: "string", description: "Group and version of the object." },
    kind: { type: "string", description: "Kind of the object." },
    metadata: { description: "Name, labels and the server's own fields.", ...preserved },
    ...(kind.rules !== undefined && { spec: { description: "The desired state.", ...preserved } }),
    ...(kind.status && { status: { description: "The last observed state.", ...preserved } }),
  },
  "x-kubernetes-group-version-kind": [gvkOf(kind)],
});

const gvkOf = ({ group, version, kind }: ServedKind): object => ({ group, version, kind });

function pathsOf(kind: ServedKind): readonly [string, object][] {
  const collection = `/${groupVersionPath(kind)}${kind.namespaced ? "/namespaces/{namespace}" : ""}/${kind.plural}`;
  return [
    [
      collection,
      {
        get: operation(kind, "list", listParameters),
        post: operation(kind, "post", writeParameters, "application/json"),
      },
    ],
    [
      `${collection}/{name}`,
      {
        get: operation(kind, "get", []),
        put: operation(kind, "put", writeParameters, "application/json"),
        patch: operation(kind, "patch", [...writeParameters, "force"], ...patchTypes),
        delete: operation(kind, "delete", ["dryRun", "gracePeriodSeconds", "propagationPolicy"]),
      },
    ],
  ];
}

const listParameters = ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"];
const writeParameters = ["dryRun", "fieldManager", "fieldValidation"];
const patchTypes = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

function operation(
  kind: ServedKind,
  action: string,
  parameters: readonly string[],
  ...bodies: readonly string[]
): object {
  const schema = { $ref: `#/components/schemas/${schemaName(kind)}` };
  return {
    operationId: `${action}${kind.kind}`,
    parameters: parameters.map((name) => ({ name, in: "query", schema: { type: "string" } })),
    ...(bodies.length > 0 && {
      requestBody: { content: Object.fromEntries(bodies.map((type) => [type, { schema }])), required: true },
    }),
    responses: { 200: { description: "OK", content: { "application/json": { schema } } } },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": gvkOf(kind),
  };
}
