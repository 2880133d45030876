import { isJsonObject } from "../../agent/api/json.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import type { Clock } from "../../agent/base/clock.ts";
import { documentIn } from "./document.ts";
import { type ApiRequest, type ApiResponse, jsonResponse } from "./exchange.ts";
import { badRequest, methodNotAllowed } from "./failure.ts";

const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
};

/** Whoever reaches the loopback port may do everything: there are no users here. */
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
