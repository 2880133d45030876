import { hintOf, isForbidden, sentenceOf } from "../../base/errors.ts";
import { isRecord } from "../../base/json.ts";
import type { ApiProbe } from "../api-probe.ts";
import { type CheckResult, fail, ok, skip, unreached, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";
import { type Need, neededPermissions } from "./needed-permissions.ts";

/** Checks the connection, the certificates of both sides, and that a Kubernetes API responds. */
export async function apiTls({ api }: Patient): Promise<CheckResult> {
  if (!api) return skip("the configuration cannot be read");
  try {
    await api.access();
  } catch (error) {
    // creds.files reports it.
    return skip(isForbidden(error) ? sentenceOf(error) : "there are no usable credentials (creds.files)");
  }
  try {
    const { status, version } = await api.greeting();
    const { server, tls } = await api.access();
    if (status === 401)
      return fail(
        `${server.origin}: the API server does not accept this board's credentials`,
        "Renew the token or the certificate (siteward enroll), and check that they belong to this cluster.",
      );
    if (status !== 200 || version === undefined)
      return fail(`${server.origin}: it does not respond like a Kubernetes API server (HTTP ${status})`);
    if (!tls.verify)
      return warn(
        `${server.origin}: Kubernetes ${version}, but its certificate is not checked`,
        "In the kubeconfig, replace insecure-skip-tls-verify by certificate-authority-data.",
      );
    return ok(`${server.origin}: Kubernetes ${version}`);
  } catch (error) {
    return fail(sentenceOf(error), hintOf(error) ?? unreachableHint);
  }
}

const unreachableHint =
  "Check the link to the API server, the address and port in the kubeconfig, and firewalls in between.";

const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** Maximum number of concurrent requests. */
const atOnce = 8;

/**
 * Asks the API server about each verb that the agent needs, because the effect of aggregated roles cannot be computed
 * on the board.
 */
export async function apiRbac(patient: Patient): Promise<CheckResult> {
  const { api } = patient;
  const config = configOf(patient);
  if (!api || !config) return skip("the configuration cannot be read");
  const needed = neededPermissions(config);
  const missing = new Set<Need>();
  const needs = [...needed];
  const ask = async (): Promise<void> => {
    for (let need = needs.shift(); need !== undefined; need = needs.shift())
      if (!(await isAllowed(api, need))) missing.add(need);
  };
  try {
    if ((await api.greeting()).status === 401) return skip("the API server does not accept this board's credentials");
    await Promise.all(Array.from({ length: atOnce }, ask));
  } catch {
    return unreached;
  }
  return checkMissing(
    needed.length,
    needed.filter((need) => missing.has(need)),
  );
}

function checkMissing(asked: number, missing: readonly Need[]): CheckResult {
  if (missing.length === 0) return ok(`all ${asked} permissions are granted`);
  const required = missing.filter(({ optional }) => optional === undefined);
  const named = (required.length > 0 ? required : missing).map(wordsOf);
  const hint = `kubectl apply -f rbac.yaml (installed next to the unit), or grant: ${named.join("; ")}`;
  if (required.length > 0) return fail(`${required.length} of ${asked} permissions are missing: ${brief(named)}`, hint);
  return warn(`missing permission ${brief(named)}: ${missing[0]?.optional}`, hint);
}

const maxNamed = 4;

const brief = (names: readonly string[]): string =>
  names.length > maxNamed ? `${names.slice(0, maxNamed).join(", ")}, …` : names.join(", ");

const wordsOf = ({ verb, group, resource, subresource, namespace }: Need): string =>
  `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}${
    namespace === undefined ? "" : ` in ${namespace}`
  }`;

async function isAllowed(api: ApiProbe, { group, resource, subresource, verb, namespace }: Need): Promise<boolean> {
  const resourceAttributes = { group, resource, subresource, verb, namespace };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" };
  const { body } = await api.ask("POST", reviews, { ...review, spec: { resourceAttributes } });
  return isRecord(body?.status) && body.status.allowed === true;
}
