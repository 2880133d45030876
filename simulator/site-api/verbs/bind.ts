import { isJsonObject, textAt } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import { objectAt } from "../kinds/pods.ts";
import { withCondition } from "../objects/pod-conditions.ts";
import { isTerminating } from "../objects/termination.ts";
import type { ObjectCall, Site } from "../requests/call.ts";
import { documentIn } from "../requests/document.ts";
import { type ApiResponse, jsonResponse } from "../requests/exchange.ts";
import { badRequest, conflict, invalid } from "../requests/failure.ts";
import { isDryRun } from "../requests/options.ts";
import { required } from "../requests/problems.ts";
import { existing } from "./get.ts";
import { storeChange } from "./write.ts";

const binding = { group: "", plural: "pods/binding", kind: "Binding" };

/** Binds a pod to a board, as a scheduler requests it. */
export function bind(site: Site, call: ObjectCall): ApiResponse {
  const { request, query, kind, name } = call;
  const body = documentIn(request);
  if (!isJsonObject(body)) throw badRequest("the object provided is unrecognized (must be of type Binding)");
  if (textAt(body, "metadata", "name") !== name) throw badRequest("name in URL does not match name in Binding object");
  const node = textAt(body, "target", "name");
  if (node === "") throw invalid(binding, name, [required("target.name")]);
  const dryRun = isDryRun(query, "CreateOptions");
  const before = existing(site, call);
  const pod = before.object;
  const uid = textAt(body, "metadata", "uid");
  if (uid !== "" && uid !== pod.metadata.uid) {
    throw conflict(
      binding,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`,
    );
  }
  if (isTerminating(pod)) throw conflict(binding, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  const bound = textAt(pod, "spec", "nodeName");
  if (bound !== "") throw conflict(binding, name, `pod ${name} is already assigned to node ${JSON.stringify(bound)}`);
  const scheduled = withCondition(pod, {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: timestamp(site.clock.now()),
  });
  const spec = { ...objectAt(pod, "spec"), nodeName: node };
  storeChange(site, kind, before, { ...scheduled, spec }, dryRun);
  return jsonResponse(201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}
