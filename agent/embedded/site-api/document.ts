import { CORE_SCHEMA, load, YAMLException } from "js-yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../api/json.ts";
import type { ApiRequest } from "./exchange.ts";
import { badRequest, tooLargeBody, unsupportedMediaType } from "./failure.ts";
import { metadataTypes } from "./names.ts";
import { decodeProtobuf } from "./protobuf/decode.ts";
import { apiVersionOf, type ServedKind } from "./served-kind.ts";

/** As the kube-apiserver limits what it reads. */
export const mostBodyBytes = 3 * 1024 * 1024;

const protobuf = "application/vnd.kubernetes.protobuf";
const accepted = ["application/json", "application/yaml", protobuf];

export function headerOf(request: ApiRequest, name: string): string {
  const found = Object.entries(request.headers).find(([header]) => header.toLowerCase() === name);
  return found?.[1] ?? "";
}

/** "application/merge-patch+json" of "application/merge-patch+json; charset=utf-8". */
export const contentTypeOf = (request: ApiRequest): string =>
  (headerOf(request, "content-type").split(";")[0] ?? "").trim().toLowerCase();

/** The body: JSON or, where the content type says so, YAML or the protobuf in which Go clients write the built-in kinds. */
export function documentIn(request: ApiRequest): JsonValue {
  const type = contentTypeOf(request) || "application/json";
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const body = bodyOf(request);
  if (type === protobuf) return parsedProtobuf(body);
  return type === "application/yaml" ? parsedYaml(body) : parsedJson(body);
}

export function bodyOf({ body = "" }: ApiRequest): string {
  if (body.length > mostBodyBytes) throw tooLargeBody(mostBodyBytes);
  return body;
}

export function parsedJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw badRequest(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** One document. Aliases are refused: a few of them let a small body stand for an enormous one. */
export function parsedYaml(text: string): JsonValue {
  try {
    const value: unknown = load(text, { schema: CORE_SCHEMA, maxAliases: 0 });
    return JSON.parse(JSON.stringify(value ?? null)) as JsonValue;
  } catch (error) {
    if (error instanceof YAMLException) throw badRequest(`the body is not YAML: ${error.reason}`);
    throw error;
  }
}

function parsedProtobuf(body: string): JsonValue {
  try {
    return decodeProtobuf(Buffer.from(body, "latin1"));
  } catch (error) {
    throw badRequest(`the body cannot be read as protobuf: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** An object of a kind as a client sent it, without its kind and apiVersion. */
export interface Sent extends JsonObject {
  readonly metadata: JsonObject;
}

export const objectIn = (request: ApiRequest, kind: ServedKind): Sent => objectOf(documentIn(request), kind);

/** Throws a Failure unless the value can be read as an object of the kind. */
export function objectOf(value: JsonValue, kind: ServedKind): Sent {
  if (!isJsonObject(value)) throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind})`);
  const { kind: itsKind = kind.kind, apiVersion = apiVersionOf(kind), metadata, ...rest } = value;
  if (itsKind !== kind.kind || apiVersion !== apiVersionOf(kind)) {
    throw badRequest(
      `${String(itsKind)} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind.kind} of ${apiVersionOf(kind)}`,
    );
  }
  const parts: readonly [string, JsonValue | undefined][] = [
    ["metadata", metadata],
    ["spec", value.spec],
    ["status", value.status],
  ];
  const wrong = parts.find(([, part]) => part !== undefined && part !== null && !isJsonObject(part));
  const why = wrong ? `${wrong[0]} must be an object` : isJsonObject(metadata) ? metadataTypes(metadata) : undefined;
  if (why !== undefined)
    throw badRequest(
      `${kind.kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind.kind}: ${why}`,
    );
  // A null stands for a member that is not there.
  const members = Object.entries(rest).filter(([, part]) => part !== null);
  const meta = Object.entries(isJsonObject(metadata) ? metadata : {}).filter(([, part]) => part !== null);
  return { ...Object.fromEntries(members), metadata: Object.fromEntries(meta) };
}
