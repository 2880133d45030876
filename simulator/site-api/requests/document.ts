import { CORE_SCHEMA, load, YAMLException } from "js-yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../agent/api/json.ts";
import { decodeProtobuf } from "../protobuf/decode.ts";
import { MemberError, type ReadMembers, readMembers } from "../schema/members.ts";
import { repeatedMembers } from "../schema/repeated.ts";
import { apiVersionOf, type ServedKind } from "../served-kind.ts";
import type { Call } from "./call.ts";
import { type ApiRequest, json } from "./exchange.ts";
import { badRequest, tooLargeBody, unsupportedMediaType } from "./failure.ts";
import type { FieldValidation } from "./options.ts";

/** The longest body that is read, as in the kube-apiserver. */
export const maxBodyBytes = 3 * 1024 * 1024;

const protobuf = "application/vnd.kubernetes.protobuf";
const accepted = ["application/json", "application/yaml", protobuf];

export function headerOf(request: ApiRequest, name: string): string {
  const found = Object.entries(request.headers).find(([header]) => header.toLowerCase() === name);
  return found?.[1] ?? "";
}

/**
 * The content type without parameters: for "application/merge-patch+json; charset=utf-8", it is
 * "application/merge-patch+json".
 */
export const contentTypeOf = (request: ApiRequest): string =>
  (headerOf(request, "content-type").split(";")[0] ?? "").trim().toLowerCase();

/**
 * The value in a body, which is JSON or, by its content type, YAML or the protobuf in which Go clients write built-in
 * kinds.
 */
export function documentIn(request: ApiRequest): JsonValue {
  const type = contentTypeOf(request) || "application/json";
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted);
  const body = bodyOf(request);
  if (type === protobuf) return parsedProtobuf(body);
  return type === "application/yaml" ? parsedYaml(body) : parsedJson(body);
}

export function bodyOf({ body = "" }: ApiRequest): string {
  if (body.length > maxBodyBytes) throw tooLargeBody(maxBodyBytes);
  return body;
}

export function parsedJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw badRequest(`the body is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * The value of a single YAML document. Aliases are refused, because a few of them could expand a small body enormously.
 */
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

/** The object in a request, read as one of a kind. */
export interface Received {
  readonly sent: Sent;
  /** Warnings for the client: unknown or repeated fields. */
  readonly warnings: readonly string[];
}

/** The object in a body. */
export function objectIn({ request, kind }: Call, validation: FieldValidation): Received {
  const document = documentIn(request);
  return received(document, kind, validation, repeatedIn(request, validation));
}

/** The fields that a JSON body repeats. In YAML, they are a parse error. */
export const repeatedIn = (request: ApiRequest, validation: FieldValidation): readonly string[] =>
  validation === "Ignore" || !/\bjson$/.test(contentTypeOf(request) || json) ? [] : repeatedMembers(bodyOf(request));

/** Throws a Failure if the value is not an object of the kind, with the strictness that the client requests. */
export function received(
  value: JsonValue,
  kind: ServedKind,
  validation: FieldValidation,
  repeated: readonly string[],
): Received {
  // Null is read as a document without fields.
  if (value !== null && !isJsonObject(value)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind.kind})`);
  }
  const { kind: itsKind = kind.kind, apiVersion = apiVersionOf(kind), ...rest } = value ?? {};
  if (itsKind !== kind.kind || apiVersion !== apiVersionOf(kind)) {
    throw badRequest(
      `${String(itsKind)} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind.kind} of ${apiVersionOf(kind)}`,
    );
  }
  const { object, unknown } = membersIn(rest, kind);
  const problems = [
    ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ...repeated.map((path) => `duplicate field ${JSON.stringify(path)}`),
  ];
  if (validation === "Strict" && problems.length > 0) {
    throw badRequest(
      `${kind.kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${kind.kind}: strict decoding error: ${problems.join(", ")}`,
    );
  }
  const { metadata } = object;
  return {
    sent: { ...object, metadata: isJsonObject(metadata) ? metadata : {} },
    warnings: validation === "Ignore" ? [] : problems,
  };
}

function membersIn(value: JsonObject, { kind, ...rest }: ServedKind): ReadMembers {
  try {
    return readMembers(kind, value);
  } catch (error) {
    if (!(error instanceof MemberError)) throw error;
    throw badRequest(
      `${kind} in version ${JSON.stringify(apiVersionOf(rest))} cannot be handled as a ${kind}: ${error.message}`,
    );
  }
}
