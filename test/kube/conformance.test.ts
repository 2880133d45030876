import { describe } from "vitest";
import { etcdCompaction, targetOf } from "../conformance/target.ts";
import { testRules } from "../conformance/test-rules.ts";
import { KubeCluster, missingAssets } from "../support/kube-cluster.ts";

/** The same rules as the embedded API's: where one is not met here, it is the rule that is wrong. */
describe.skipIf(missingAssets() !== undefined)("conformance", () => {
  testRules("a real kube-apiserver", async () => {
    const cluster = new KubeCluster();
    await cluster.start();
    const target = await targetOf(cluster.kubeconfig, etcdCompaction(cluster.etcd));
    return { target, stop: () => cluster.stop() };
  });
});
