import { boardLeaseNamespace } from "../../api/resources.ts";
import { leaseNamespaces } from "../../config/claim-settings.ts";
import type { Config } from "../../config/settings.ts";

/** One permission of the agent's user. */
export interface Need {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  /** The namespace of the objects; undefined for all namespaces, or for a resource without namespaces. */
  readonly namespace?: string;
  /** The consequence of a missing permission; undefined if the site cannot work without it. */
  readonly optional?: string;
}

/** Several permissions: `verbs` are separated by spaces, and `resource` may contain a subresource. */
type Rule = readonly [
  group: string,
  resource: string,
  verbs: string,
  more?: { readonly namespace?: string; readonly optional?: string },
];

/** The permissions that an agent with this configuration needs. A test compares them with systemd/rbac.yaml. */
export function neededPermissions(config: Config): readonly Need[] {
  return rules(config).flatMap(([group, path, verbs, more = {}]) => {
    const [resource = "", subresource] = path.split("/");
    return verbs
      .split(" ")
      .map((verb): Need => ({ group, resource, verb, ...(subresource !== undefined && { subresource }), ...more }));
  });
}

const ofOwnNode =
  "this board cannot report its health, its standby state and its LAN addresses on its Node, and board.cordon is refused";
const ofVolumes = "pods are evicted from silent boards even if their volumes bind them there";

function rules({ controllers, daemonSet, judgement, leader, site }: Config): readonly Rule[] {
  const runs = (name: keyof Config["controllers"]): boolean => controllers[name].mode === "act";
  // A controller in shadow mode reads as an acting one does, and writes nothing.
  const decides = (name: keyof Config["controllers"]): boolean => controllers[name].mode !== "off";
  // Each agent reports on its own Node, whatever its controllers do.
  const onOwnNode = runs("nodeLifecycle") ? {} : { optional: ofOwnNode };
  const evicts = runs("taintEviction") || runs("podGC");
  // A site with a node selector but no namespaces runs no workload controllers.
  const hasWorkloads = site.nodeSelector === undefined || site.namespaceSelector !== undefined;
  const hasDaemonSets = hasWorkloads && runs("daemonSet");
  const when = (holds: boolean, ...found: readonly Rule[]): readonly Rule[] => (holds ? found : []);
  const slices = runs("endpointSlice") || runs("endpointSliceMirroring");
  const ofLeases = "coordination.k8s.io";
  return [
    ["", "nodes", "get list watch"],
    ["", "nodes", "patch", onOwnNode],
    ["", "nodes/status", "patch", onOwnNode],
    ["", "pods", "get list watch"],
    ...when(hasDaemonSets, ["", "pods", "patch"]),
    ...when(evicts || hasDaemonSets, ["", "pods", "delete"]),
    ...when(evicts || runs("nodeLifecycle"), ["", "pods/status", "patch"]),
    ["", "pods/eviction", "create", { optional: "the command board.drain is refused" }],
    ["", "events", "create patch", { optional: "no Events are written" }],
    [ofLeases, "leases", "get list watch", { namespace: boardLeaseNamespace }],
    [ofLeases, "leases", "get list create patch", { namespace: leader.namespace }],
    ...leaseNamespaces(leader)
      .slice(1)
      .map((namespace): Rule => [ofLeases, "leases", "list", { namespace }]),
    [
      "",
      "namespaces",
      "get",
      {
        optional:
          "clusters are distinguished only by their address, and siteward.dev/on-silence of a namespace is ignored",
      },
    ],
    ...when(site.namespaceSelector !== undefined, ["", "namespaces", "list watch"]),
    ...when(
      judgement.policy === "evidence" && decides("taintEviction"),
      ["", "persistentvolumeclaims", "get", { optional: ofVolumes }],
      ["", "persistentvolumes", "get", { optional: ofVolumes }],
    ),
    ...when(
      hasDaemonSets,
      ["", "pods", "create"],
      ["apps", "daemonsets", "get list watch"],
      ["apps", "daemonsets/status", "patch"],
      ["apps", "controllerrevisions", "get list watch create patch delete"],
    ),
    // A drain reads the owner of each daemon pod, even where no controller of ours reads DaemonSets.
    ...when(!hasDaemonSets, [
      "apps",
      "daemonsets",
      "get",
      { optional: "the command board.drain fails on boards with pods of DaemonSets" },
    ]),
    ...when(hasDaemonSets && daemonSet.bind, ["", "pods/binding", "create"]),
    ...when(hasWorkloads && (runs("endpoints") || slices), ["", "services", "get list watch"]),
    ...when(hasWorkloads && runs("endpoints"), ["", "endpoints", "get list watch create patch delete"]),
    ...when(hasWorkloads && slices, ["discovery.k8s.io", "endpointslices", "get list watch create patch delete"]),
  ];
}
