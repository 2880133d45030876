import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { assets, KubeCluster } from "../../../../support/kube/kube-cluster.ts";
import { fullPod, fullPodRuntime, fullPodStatus, gatedPod } from "./full-pod.ts";

/**
 * Records this folder's list of pods in JSON and in protobuf, from a real kube-apiserver: run this file after a change
 * of full-pod.ts, with KUBEBUILDER_ASSETS set.
 */
const cluster = new KubeCluster();
const pods = "/api/v1/namespaces/default/pods";
const plain = (name: string, nodeName?: string): object => ({
  metadata: { name },
  spec: { ...(nodeName && { nodeName }), containers: [{ name: "main", image: "registry.test/app:1" }] },
});

await cluster.start();
const proxy = spawn(path.join(assets ?? "", "kubectl"), ["--kubeconfig", cluster.kubeconfig, "proxy", "--port", "0"]);
try {
  await cluster.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", fullPodRuntime);
  await cluster.request("POST", pods, fullPod);
  await cluster.request(
    "PATCH",
    `${pods}/everything/status`,
    { status: fullPodStatus },
    "application/merge-patch+json",
  );
  await cluster.request("DELETE", `${pods}/everything?gracePeriodSeconds=30`);
  await cluster.request("POST", pods, gatedPod);
  await cluster.request("POST", pods, plain("plain-0", "board-0001"));
  await cluster.request("POST", pods, plain("plain-1", "board-0002"));
  await cluster.request("POST", pods, plain("plain-2"));
  const [line] = (await once(createInterface(proxy.stdout), "line")) as [string];
  const server = `http://${/127\.0\.0\.1:\d+/.exec(line)?.[0]}`;
  const listed = async (accept: string): Promise<Buffer> => {
    const answer = await fetch(`${server}${pods}?limit=4`, { headers: { accept } });
    return Buffer.from(await answer.arrayBuffer());
  };
  const write = (name: string, text: string): void => writeFileSync(path.join(import.meta.dirname, name), text);
  write("pod-list.json", (await listed("application/json")).toString());
  const protobuf = (await listed("application/vnd.kubernetes.protobuf")).toString("base64");
  write("pod-list.protobuf.txt", `${(protobuf.match(/.{1,120}/g) ?? []).join("\n")}\n`);
} finally {
  proxy.kill();
  await cluster.stop();
}
