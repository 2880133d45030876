import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, describe, expect, test } from "vitest";
import { noopLogger } from "../../../../agent/base/logger.ts";
import {
  ServiceAccountCredentials,
  serviceAccountFolder,
} from "../../../../agent/client/credentials/service-account-credentials.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { Authority, hasOpenssl } from "../certificates.ts";

const root = mkdtempSync(join(tmpdir(), "siteward-pod-"));
afterAll(() => rmSync(root, { recursive: true }));
const folder = join(root, serviceAccountFolder);
mkdirSync(folder, { recursive: true });

const credentials = (environment: Record<string, string>, clock = new FakeClock()) =>
  new ServiceAccountCredentials({ clock, random: new SeededRandom(), log: noopLogger }, { folder, environment });

const inPod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

test("outside of a Pod the error says so", async () => {
  await expect(credentials({}).access()).rejects.toMatchObject({
    message: "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
    hint: "Run the agent in a Pod, or give it a kubeconfig.",
  });
  await expect(credentials(inPod).access()).rejects.toThrow("ca.crt does not exist");
});

describe.skipIf(!hasOpenssl())("in a Pod", () => {
  test.each([
    ["10.0.0.1", "443"],
    ["fd00::1", "6443"],
  ])("the official client's configuration for %s gives the same result", async (host, port) => {
    const authority = new Authority();
    writeFileSync(join(folder, "ca.crt"), authority.ca);
    writeFileSync(join(folder, "token"), "service-token");
    writeFileSync(join(folder, "namespace"), "edge");
    authority.remove();
    const access = await credentials({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }).access();

    const { KUBERNETES_SERVICE_HOST: hostBefore, KUBERNETES_SERVICE_PORT: portBefore } = process.env;
    const reference = new KubeConfig();
    try {
      Object.assign(process.env, { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port });
      reference.loadFromCluster(root);
    } finally {
      Object.assign(process.env, { KUBERNETES_SERVICE_HOST: hostBefore, KUBERNETES_SERVICE_PORT: portBefore });
    }
    const tls: Parameters<KubeConfig["applyToHTTPSOptions"]>[0] = { headers: {} };
    await reference.applyToHTTPSOptions(tls);
    expect(access.server.origin).toBe(new URL(reference.getCurrentCluster()?.server ?? "").origin);
    expect(access.tls.ca).toBe(String(tls.ca));
    expect({ Authorization: await access.authorization() }).toEqual(tls.headers);
    expect(access.namespace).toBe(reference.getContextObject("inClusterContext")?.namespace);
  });

  test("the kubelet renews the token, and a minute later it is used", async () => {
    const clock = new FakeClock();
    const access = await credentials(inPod, clock).access();
    writeFileSync(join(folder, "token"), "renewed\n");
    expect(await access.authorization()).toBe("Bearer service-token");
    await clock.advance("1m");
    expect(await access.authorization()).toBe("Bearer renewed");
  });

  test("a replaced certificate authority is noticed once the server is not trusted, and used for the next connection", async () => {
    const clock = new FakeClock();
    const given = credentials(inPod, clock);
    const access = await given.access();
    const authority = new Authority("rotated");
    writeFileSync(join(folder, "ca.crt"), access.tls.ca + authority.ca);
    authority.remove();
    await clock.advance("10s");
    await access.authorization();
    expect(access.outdated).toBe(false);
    access.doubted?.();
    await access.authorization();
    expect(access.outdated).toBe(true);
    const next = await given.access();
    expect([next.outdated, next.tls.ca]).toEqual([false, access.tls.ca + authority.ca]);
  });
});
