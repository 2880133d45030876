import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { dump } from "js-yaml";

/**
 * Writes a configuration file equivalent to kube-controller-manager's flags and prints its path: policy `kubernetes`,
 * one board, the whole cluster. `--options` names a JSON file with flags by name, all values strings.
 *
 * Its Lease lies in `default`, because the comparison empties that namespace between its scripts: a term inherits the
 * previous term's budget, which a new story must not.
 */
const { values } = parseArgs({
  options: { kubeconfig: { type: "string" }, options: { type: "string" }, dir: { type: "string" } },
});
const { kubeconfig, options: file, dir } = values;
if (kubeconfig === undefined || file === undefined || dir === undefined) {
  process.stderr.write("usage: compare-candidate --kubeconfig FILE --options FILE --dir FOLDER\n");
  process.exit(64);
}

type Flags = Readonly<Record<string, string>>;
const flags = JSON.parse(readFileSync(file, "utf8")) as Flags;
const config = path.join(dir, "siteward.yaml");
mkdirSync(dir, { recursive: true });
writeFileSync(config, dump(configuration(flags)));

process.stdout.write(config);

function configuration(given: Flags): object {
  const enabled = given.controllers?.split(",") ?? [];
  const has = (name: string): boolean =>
    enabled.length === 0 || enabled.includes(name) || (enabled.includes("*") && !enabled.includes(`-${name}`));
  return {
    apiVersion: "siteward.dev/v1",
    kind: "AgentConfiguration",
    site: { name: "compare" },
    board: { name: "compare" },
    api: { kubeconfig },
    client: present({ qps: number(given["kube-api-qps"]), burst: number(given["kube-api-burst"]) }),
    leader: { namespace: "default", duration: "15s", renewDeadline: "10s", retry: "2s", followers: "poll" },
    judgement: { policy: "kubernetes" },
    nodeLifecycle: present({
      monitorPeriod: given["node-monitor-period"],
      gracePeriod: given["node-monitor-grace-period"],
      startupGracePeriod: given["node-startup-grace-period"],
      evictionRate: number(given["node-eviction-rate"]),
      secondaryRate: number(given["secondary-node-eviction-rate"]),
      largeZone: number(given["large-cluster-size-threshold"]),
      unhealthyZone: number(given["unhealthy-zone-threshold"]),
    }),
    controllers: {
      nodeLifecycle: { mode: has("node-lifecycle-controller") ? "act" : "off" },
      taintEviction: { mode: has("taint-eviction-controller") ? "act" : "off" },
      podGC: { mode: has("pod-garbage-collector-controller") ? "act" : "off" },
      daemonSet: { mode: has("daemonset-controller") ? "act" : "off" },
      endpoints: { mode: has("endpoints-controller") ? "act" : "off" },
      endpointSlice: { mode: has("endpointslice-controller") ? "act" : "off" },
      endpointSliceMirroring: { mode: has("endpointslice-mirroring-controller") ? "act" : "off" },
    },
    podGC: present({ terminatedThreshold: number(given["terminated-pod-gc-threshold"]) }),
    endpoints: present({
      batch: given["endpointslice-updates-batch-period"] ?? given["endpoint-updates-batch-period"],
      perSlice: number(given["max-endpoints-per-slice"]),
      perMirroredSubset: number(given["mirroring-max-endpoints-per-subset"]),
    }),
    state: { folder: path.join(dir ?? "", "state") },
    run: { folder: path.join(dir ?? "", "run") },
    log: { level: "debug", format: "text" },
  };
}

function number(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function present(section: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(section).filter(([, value]) => value !== undefined));
}
