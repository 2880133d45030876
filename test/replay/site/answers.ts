import { isJsonObject, type JsonObject } from "../../../agent/api/json.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { ApiError, type Verb } from "../../../agent/client/api-error.ts";

const httpStatus: Readonly<Record<string, number>> = {
  Conflict: 409,
  AlreadyExists: 409,
  NotFound: 404,
  Forbidden: 403,
  Timeout: 504,
};

export const refusal = (verb: Verb, target: string, reason: string): ApiError =>
  new ApiError({ verb, target }, { status: httpStatus[reason] ?? 500, reason, message: `refused: ${reason}` });

/** The uid and resourceVersion in the body are preconditions. */
export function meets({ metadata }: KubeObject, body: JsonObject): boolean {
  const { uid, resourceVersion } = isJsonObject(body.metadata) ? body.metadata : {};
  return (
    (uid === undefined || uid === metadata.uid) &&
    (resourceVersion === undefined || resourceVersion === metadata.resourceVersion)
  );
}

export function withoutKind({ kind: _kind, apiVersion: _apiVersion, ...object }: JsonObject): JsonObject {
  return object;
}
