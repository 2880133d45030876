import { describe } from "vitest";
import { etcdCompaction, targetOf } from "../conformance/target.ts";
import { testRules } from "../conformance/test-rules.ts";
import { KubeCluster, missingAssets } from "../support/kube/kube-cluster.ts";

/** The rules that the embedded API is tested with. If the real API server breaks one, the rule is wrong. */
describe.skipIf(missingAssets() !== undefined)("conformance", () => {
  testRules("a real kube-apiserver", async () => {
    const cluster = new KubeCluster();
    await cluster.start();
    const target = await targetOf(cluster.kubeconfig, etcdCompaction(cluster.etcd));
    return { target, stop: () => cluster.stop() };
  });
});
