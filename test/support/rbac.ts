import { readFileSync } from "node:fs";
import path from "node:path";
import { loadAll } from "js-yaml";
import type { Audited, KubeCluster, PolicyRule } from "./kube/kube-cluster.ts";

interface RbacObject {
  readonly apiVersion: string;
  readonly kind: "ServiceAccount" | "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding";
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly PolicyRule[];
  readonly subjects?: readonly object[];
}

const file = path.resolve(import.meta.dirname, "../../systemd/rbac.yaml");

export const rbacObjects = (): readonly RbacObject[] => loadAll(readFileSync(file, "utf8")) as readonly RbacObject[];

const root = "/apis/rbac.authorization.k8s.io/v1";
const plurals: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  Role: "roles",
  RoleBinding: "rolebindings",
};

/** Does the same as `kubectl apply -f systemd/rbac.yaml`, for the user "agent" instead of the service account. */
export async function applyRbac(cluster: KubeCluster): Promise<void> {
  const agent = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "agent" }];
  for (const object of rbacObjects()) {
    const plural = plurals[object.kind];
    if (plural === undefined) continue;
    const { name, namespace } = object.metadata;
    const place = namespace === undefined ? "" : `/namespaces/${namespace}`;
    const granted = object.subjects === undefined ? object : { ...object, subjects: agent };
    await cluster.request("PUT", `${root}${place}/${plural}/${name}`, granted);
  }
}

/**
 * "patch nodes/status", "list leases.coordination.k8s.io in kube-node-lease": the form of the file's permissions and of
 * a request's needs.
 */
export const permitted = (): readonly string[] =>
  rbacObjects().flatMap(({ rules = [], metadata: { namespace } }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => words(verb, { group, resource, namespace }))),
      ),
    ),
  );

/** `everywhere`: the permissions that the file grants in all namespaces. */
export function askedFor({ verb, objectRef }: Audited, everywhere: ReadonlySet<string>): string {
  const { resource = "", subresource, apiGroup: group = "", namespace } = objectRef ?? {};
  const of = { group, resource: subresource === undefined ? resource : `${resource}/${subresource}` };
  const anywhere = words(verb, { ...of, namespace: undefined });
  return everywhere.has(anywhere) || namespace === undefined ? anywhere : words(verb, { ...of, namespace });
}

interface Of {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
}

const words = (verb: string, { group, resource, namespace }: Of): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`}${namespace === undefined ? "" : ` in ${namespace}`}`;
