import type { Pod } from "../../api/core.ts";
import { quantity } from "../../api/quantity.ts";

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];

/** Amounts by resource name, in billionths of the resource's unit. */
type Amounts = ReadonlyMap<string, bigint>;

export interface HostPort {
  /** An address of the board; `anyAddress`: all of them. */
  readonly address: string;
  readonly protocol: string;
  readonly port: number;
}

export const anyAddress = "0.0.0.0";

/** The resources and host ports that a pod occupies on its board. */
export interface PodNeeds {
  readonly resources: Amounts;
  readonly ports: readonly HostPort[];
}

export function needsOf({ spec }: Pod): PodNeeds {
  return { resources: spec === undefined ? new Map() : resourcesOf(spec), ports: spec ? portsOf(spec) : [] };
}

/**
 * The requests of a pod, counted as kube-scheduler does. They are the larger of two sums: that of all containers and
 * sidecars (init containers that always restart), and that of the largest init container with the sidecars started
 * before it. Requests of the pod as a whole take precedence.
 */
function resourcesOf({ containers, initContainers = [], resources, overhead }: Spec): Amounts {
  let staying: Amounts = new Map();
  let starting: Amounts = new Map();
  for (const container of initContainers) {
    const own = amounts(container.resources?.requests);
    if (container.restartPolicy === "Always") staying = sum(staying, own);
    starting = larger(starting, container.restartPolicy === "Always" ? staying : sum(staying, own));
  }
  const running = containers.reduce((all, one) => sum(all, amounts(one.resources?.requests)), staying);
  const ofPod = amounts(resources?.requests);
  return sum(new Map([...larger(running, starting), ...ofPod]), amounts(overhead));
}

const amounts = (written: Readonly<Record<string, string>> | undefined): Amounts =>
  new Map(Object.entries(written ?? {}).map(([name, text]) => [name, quantity(text) ?? 0n]));

const sum = (a: Amounts, b: Amounts): Amounts => merged(a, b, (x, y) => x + y);

const larger = (a: Amounts, b: Amounts): Amounts => merged(a, b, (x, y) => (x > y ? x : y));

function merged(a: Amounts, b: Amounts, how: (x: bigint, y: bigint) => bigint): Amounts {
  const all = new Map(a);
  for (const [name, amount] of b) all.set(name, how(all.get(name) ?? 0n, amount));
  return all;
}

function portsOf({ containers, initContainers = [], hostNetwork }: Spec): readonly HostPort[] {
  const running = [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === "Always")];
  return running.flatMap((container) => portsOfContainer(container, hostNetwork === true));
}

/** The host ports of a container; with hostNetwork, every port of the container is one. */
function portsOfContainer({ ports = [] }: Container, isOnHost: boolean): readonly HostPort[] {
  return ports.flatMap(({ hostPort, containerPort, hostIP, protocol }) => {
    const port = hostPort || (isOnHost ? containerPort : 0);
    return port ? [{ address: hostIP || anyAddress, protocol: protocol ?? "TCP", port }] : [];
  });
}
