/** An object and the key under which the API server stores it, for example "pods/default/web". */
export interface Stored {
  readonly at: string;
  readonly object: object;
}

/** In one transaction, for which etcd accepts at most 128 objects, and 1.5 MiB in all. */
const mostOfOne = 100;

/**
 * Writes objects directly into the API server's store: tens of thousands in a few seconds, and objects that its validation
 * would refuse.
 */
export async function putInStore(etcd: string, objects: readonly Stored[], together = mostOfOne): Promise<void> {
  for (let from = 0; from < objects.length; from += together) {
    const success = objects.slice(from, from + together).map(({ at, object }) => ({
      requestPut: { key: base64(`/registry/${at}`), value: base64(JSON.stringify(object)) },
    }));
    const answer = await fetch(`${etcd}/v3/kv/txn`, { method: "POST", body: JSON.stringify({ success }) });
    if (!answer.ok) throw new Error(`etcd txn: ${answer.status} ${(await answer.text()).slice(0, 200)}`);
    await answer.arrayBuffer();
  }
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A running pod with only the required fields. */
export function storedPod(
  name: string,
  board: string,
  {
    labels = {},
    annotations = {},
    env = [],
  }: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly env?: readonly { readonly name: string; readonly value: string }[];
  } = {},
): Stored {
  const time = "2026-01-01T00:00:00Z";
  return {
    at: `pods/default/${name}`,
    object: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: time, labels, annotations },
      spec: {
        nodeName: board,
        restartPolicy: "Always",
        dnsPolicy: "ClusterFirst",
        schedulerName: "default-scheduler",
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "main", image: "example/app:1", imagePullPolicy: "Always", env }],
      },
      status: {
        phase: "Running",
        startTime: time,
        conditions: [{ type: "Ready", status: "True", lastTransitionTime: time }],
      },
    },
  };
}

export const storedLease = (board: string, at: Date): Stored => ({
  at: `leases/kube-node-lease/${board}`,
  object: {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name: board,
      namespace: "kube-node-lease",
      uid: `uid-lease-${board}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { holderIdentity: board, leaseDurationSeconds: 40, renewTime: at.toISOString().replace("Z", "000Z") },
  },
});

/** A board that is ready, with its Lease. The API server would add a taint to a Node that it creates. */
export function storedBoard(name: string, zone: string): readonly Stored[] {
  const time = new Date().toISOString().replace(/\.\d+Z/, "Z");
  const condition = (type: string, status: string) => ({
    type,
    status,
    reason: "Load",
    message: "as it should be",
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  });
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: time,
      labels: {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "arm64",
        "topology.kubernetes.io/zone": zone,
      },
    },
    spec: {},
    status: {
      capacity: { cpu: "4", memory: "4Gi", pods: "500" },
      allocatable: { cpu: "4", memory: "4Gi", pods: "500" },
      conditions: [
        condition("MemoryPressure", "False"),
        condition("DiskPressure", "False"),
        condition("PIDPressure", "False"),
        condition("Ready", "True"),
      ],
    },
  };
  return [{ at: `minions/${name}`, object: node }, storedLease(name, new Date())];
}
