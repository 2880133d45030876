import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { assets, KubeCluster, missingAssets } from "../support/kube/kube-cluster.ts";
import { blockWith, commandOf, pasted } from "../support/operator-docs.ts";

const root = path.resolve(import.meta.dirname, "../..");

describe.skipIf(missingAssets())("the first steps of docs/operator.md, on a real API server with kubectl", () => {
  const cluster = new KubeCluster();
  let folder = "";

  beforeAll(async () => {
    await cluster.start();
    folder = path.join(cluster.dir, "bench");
    mkdirSync(folder);
  });
  afterAll(() => cluster.stop());

  const shell = (script: string): string =>
    pasted(script, { cwd: folder, env: { PATH: `${assets}:${process.env.PATH}`, KUBECONFIG: cluster.kubeconfig } });

  test("the account is created, and a board is enrolled with its token and authority", () => {
    shell(`cp ${root}/systemd/rbac.yaml .`);
    shell(blockWith("sh", "create token siteward"));
    expect(readFileSync(path.join(folder, "siteward.token"), "utf8").split(".")).toHaveLength(3);
    const command = commandOf(blockWith("sh", "siteward enroll --server"), "sudo siteward enroll --server")
      .replace("sudo siteward", `${process.execPath} ${root}/dist/main.js`)
      .replace("https://10.0.0.1:6443", cluster.server);
    shell(`mkdir -p ${folder}/card/etc ${folder}/card/usr`);
    const said = shell(`${command} --root ${folder}/card`);
    expect(said).toMatch(/answers: Kubernetes v1\./);
    expect(existsSync(path.join(folder, "card/etc/siteward/credentials/kubeconfig"))).toBe(true);
  });

  test("with the enrolled credentials no permission is missing, and the doctor's link checks pass", async () => {
    const env = `SITEWARD_API_KUBECONFIG=${folder}/card/etc/siteward/credentials/kubeconfig`;
    const doctor = `${env} ${process.execPath} ${root}/dist/main.js doctor --only api,clock.skew || true`;
    // The roles were created a moment ago.
    await until("granted", () => shell(doctor).includes("permissions are granted"), 15);
    const said = shell(doctor);
    expect(said).toMatch(/^\[ok\] +api\.tls +/m);
    expect(said).toMatch(/^\[ok\] +api\.rbac +all \d+ permissions are granted$/m);
  });
});
