import { isJsonObject } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import type { Clock } from "../../../agent/base/clock.ts";
import { documentIn } from "../requests/document.ts";
import { type ApiRequest, type ApiResponse, jsonResponse } from "../requests/exchange.ts";
import { badRequest, methodNotAllowed } from "../requests/failure.ts";

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
};

/**
 * Answers SelfSubjectReview and the access reviews. There are no users here: every client of the loopback port is admin
 * and may do everything.
 */
export function answerReview(kind: string, apiVersion: string, request: ApiRequest, clock: Clock): ApiResponse {
  if (request.method !== "POST") throw methodNotAllowed();
  const body = documentIn(request);
  if (!isJsonObject(body)) throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  if (kind === "SelfSubjectReview") {
    const metadata = { creationTimestamp: timestamp(clock.now()) };
    const userInfo = { username: "admin", groups: ["system:masters", "system:authenticated"] };
    return jsonResponse(201, { kind, apiVersion, metadata, status: { userInfo } });
  }
  const status = kind === "SelfSubjectRulesReview" ? everything : { allowed: true };
  return jsonResponse(201, { kind, apiVersion, metadata: {}, spec: body.spec ?? {}, status });
}
