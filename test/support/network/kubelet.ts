import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Agent, request } from "node:https";

/**
 * The parts of a kubelet that show whether a board is alive, as a program for the board's namespace, `kubelet.ts KUBECONFIG
 * NODE`: it renews its Lease, repeats the Node's conditions, and answers on its health port.
 */
const [kubeconfig = "", node = ""] = process.argv.slice(2);
const { clusters, users } = JSON.parse(readFileSync(kubeconfig, "utf8")) as {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
};
const [{ cluster }] = clusters;
const ca = Buffer.from(cluster["certificate-authority-data"] ?? "", "base64");
const connections = new Agent({ keepAlive: true, maxSockets: 2, timeout: 4000 });

function patch(path: string, type: string, body: object): Promise<void> {
  const headers = {
    authorization: `Bearer ${users[0].user.token}`,
    "content-type": type,
    "user-agent": "kubelet/v1.36",
  };
  return new Promise((resolve) => {
    const options = {
      method: "PATCH",
      headers,
      ca,
      servername: cluster["tls-server-name"],
      agent: connections,
      timeout: 4000,
    };
    const sent = request(new URL(path, cluster.server), options, (answer) => answer.resume().once("close", resolve));
    sent.once("timeout", () => sent.destroy(new Error("no answer")));
    sent.once("error", () => resolve());
    sent.end(JSON.stringify(body));
  });
}

const now = (): string => new Date().toISOString();

function renew(): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`;
  return patch(path, "application/merge-patch+json", { spec: { renewTime: now().replace("Z", "000Z") } });
}

function report(): Promise<void> {
  const times = { lastHeartbeatTime: now().replace(/\.\d+Z/, "Z"), lastTransitionTime: now().replace(/\.\d+Z/, "Z") };
  const conditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => ({
    type,
    status: type === "Ready" ? "True" : "False",
    reason: "Kubelet",
    message: "as it should be",
    ...times,
  }));
  return patch(`/api/v1/nodes/${node}/status`, "application/strategic-merge-patch+json", { status: { conditions } });
}

async function repeat(work: () => Promise<void>, period: number): Promise<never> {
  for (;;) {
    await work();
    await new Promise((resolve) => setTimeout(resolve, period));
  }
}

createServer((_, answer) => answer.end("ok")).listen(10248, "127.0.0.1");
void repeat(renew, 1000);
void repeat(report, 5000);
