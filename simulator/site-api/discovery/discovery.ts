import { servedKinds } from "../served.ts";
import { apiVersionOf, type ServedKind, type Subresource } from "../served-kind.ts";

/** Discovery documents for everything served: by group, or all in one document (`aggregated`). */
const collectionVerbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const statusVerbs = ["get", "patch", "update"];
const askOnly = ["create"];

interface Listed {
  readonly name: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources: readonly Subresource[];
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly listed: readonly Listed[];
}

const listedKind = (kind: ServedKind): Listed => ({
  name: kind.plural,
  singular: kind.singular,
  kind: kind.kind,
  namespaced: kind.namespaced,
  // A namespace is emptied before it is deleted, and its objects are deleted one by one.
  verbs: kind.plural === "namespaces" ? collectionVerbs.filter((verb) => verb !== "deletecollection") : collectionVerbs,
  ...(kind.shortNames && { shortNames: kind.shortNames }),
  ...(kind.categories && { categories: kind.categories }),
  subresources: [
    ...(kind.subresources ?? []),
    ...(kind.status ? [{ name: "status", kind: kind.kind, verbs: statusVerbs }] : []),
  ],
});

const reviews = (group: string, ...kinds: readonly string[]): GroupVersion => {
  const listed = kinds.map((kind) => {
    const name = kind.toLowerCase();
    return { name: `${name}s`, singular: name, kind, namespaced: false, verbs: askOnly, subresources: [] };
  });
  return { group, version: "v1", listed };
};

const groupVersions: readonly GroupVersion[] = [
  ...[...new Set(servedKinds.map(apiVersionOf))].map((apiVersion) => {
    const kinds = servedKinds.filter((kind) => apiVersionOf(kind) === apiVersion);
    return { group: kinds[0]?.group ?? "", version: kinds[0]?.version ?? "", listed: kinds.map(listedKind) };
  }),
  reviews("authentication.k8s.io", "SelfSubjectReview"),
  reviews("authorization.k8s.io", "SelfSubjectAccessReview", "SelfSubjectRulesReview"),
];

const groups = groupVersions.filter(({ group }) => group !== "");

export const coreVersions = {
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "" }],
};

const groupOf = ({ group, version }: GroupVersion) => {
  const only = { groupVersion: `${group}/${version}`, version };
  return { name: group, versions: [only], preferredVersion: only };
};

export const groupList = { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupOf) };

/** The document of "/apis/apps"; undefined for a group that is not served. */
export function groupDocument(group: string): object | undefined {
  const found = groups.find((one) => one.group === group);
  return found && { kind: "APIGroup", apiVersion: "v1", ...groupOf(found) };
}

/** The document of "/api/v1" or "/apis/apps/v1"; undefined if that is not served. */
export function resourceList(apiVersion: string): object | undefined {
  const found = groupVersions.find((one) => apiVersionOf(one) === apiVersion);
  return (
    found && {
      kind: "APIResourceList",
      ...(found.group !== "" && { apiVersion: "v1" }),
      groupVersion: apiVersion,
      resources: found.listed.flatMap(resourcesOf),
    }
  );
}

const resourcesOf = ({ name, singular, subresources, ...rest }: Listed): readonly object[] => [
  { name, singularName: singular, ...rest },
  ...subresources.map(({ name: part, kind, group, version, verbs }) => ({
    name: `${name}/${part}`,
    singularName: "",
    namespaced: rest.namespaced,
    ...(group !== undefined && { group, version }),
    kind,
    verbs,
  })),
];

export const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Everything below "/api" or below "/apis" in one document. */
export function aggregated(root: "/api" | "/apis"): object {
  const below = groupVersions.filter(({ group }) => (group === "") === (root === "/api"));
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: below.map(({ group, version, listed }) => ({
      metadata: group === "" ? {} : { name: group },
      versions: [{ version, resources: listed.map(aggregatedResource), freshness: "Current" }],
    })),
  };
}

const aggregatedResource = ({
  name,
  singular,
  kind,
  namespaced,
  verbs,
  shortNames,
  categories,
  subresources,
}: Listed) => ({
  resource: name,
  responseKind: { group: "", version: "", kind },
  scope: namespaced ? "Namespaced" : "Cluster",
  singularResource: singular,
  verbs,
  ...(shortNames && { shortNames }),
  ...(categories && { categories }),
  ...(subresources.length > 0 && {
    subresources: subresources.map((part) => ({
      subresource: part.name,
      responseKind: { group: part.group ?? "", version: part.version ?? "", kind: part.kind },
      verbs: part.verbs,
    })),
  }),
});
