import { isJsonObject, textAt } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import { takeFromBudget } from "../disruption.ts";
import { objectAt } from "../kinds/pods.ts";
import { withCondition } from "../objects/pod-conditions.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { documentIn } from "../requests/document.ts";
import { type ApiResponse, jsonResponse } from "../requests/exchange.ts";
import { badRequest } from "../requests/failure.ts";
import { deleteOptionsIn, isDryRun } from "../requests/options.ts";
import { checkPreconditions } from "./delete.ts";
import { existing } from "./get.ts";
import { deleteObject, storeChange } from "./write.ts";

/** Evicts a pod: a deletion with a reason, if the pod's disruption budget allows it. */
export function evict(site: Site, call: ObjectCall): ApiResponse {
  const { request, query, kind, name } = call;
  const body = documentIn(request);
  if (!isJsonObject(body)) throw badRequest("the object provided is unrecognized (must be of type Eviction)");
  const named = textAt(body, "metadata", "name");
  if (named !== name) {
    throw badRequest(`name in URL does not match name in Eviction object: ${JSON.stringify(named)}`);
  }
  const options = deleteOptionsIn(query, objectAt(body, "deleteOptions"));
  const dryRun = options.dryRun || isDryRun(query, "CreateOptions");
  const before = existing(site, call);
  checkPreconditions(kind, before.object, options);
  takeFromBudget(site, before.object, dryRun);
  const marked = storeChange(site, kind, before, withCondition(before.object, disruption(site)), dryRun);
  deleteObject(site, kind, marked, options, dryRun);
  return jsonResponse(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}

const disruption = ({ clock }: Site) => ({
  type: "DisruptionTarget",
  status: "True",
  lastProbeTime: null,
  lastTransitionTime: timestamp(clock.now()),
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
});
