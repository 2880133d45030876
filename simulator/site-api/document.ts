import { CORE_SCHEMA, load, YAMLException } from "js-yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../agent/api/json.ts";
import type { Call } from "./call.ts";
import { type ApiRequest, json } from "./exchange.ts";
import { badRequest, tooLargeBody, unsupportedMediaType } from "./failure.ts";
import type { FieldValidation } from "./options.ts";
import { decodeProtobuf } from "./protobuf/decode.ts";
import { MemberError, type ReadMembers, readMembers } from "./schema/members.ts";
import { repeatedMembers } from "./schema/repeated.ts";
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

/** What a request brings, read as an object of a kind. */
export interface Received {
  readonly sent: Sent;
  /** What the client is to be told: members that the kind does not have, or that stand there twice. */
  readonly warnings: readonly string[];
}

/** The object in a body. */
export function objectIn({ request, kind }: Call, validation: FieldValidation): Received {
  const document = documentIn(request);
  return received(document, kind, validation, repeatedIn(request, validation));
}

/** Members that stand in a JSON body twice. In YAML they are no document at all. */
export const repeatedIn = (request: ApiRequest, validation: FieldValidation): readonly string[] =>
  validation === "Ignore" || !/\bjson$/.test(contentTypeOf(request) || json) ? [] : repeatedMembers(bodyOf(request));

/** Throws a Failure unless the value can be read as an object of the kind, and as strictly as the client wants it. */
export function received(
  value: JsonValue,
  kind: ServedKind,
  validation: FieldValidation,
  repeated: readonly string[],
): Received {
  // As a document without any member.
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
