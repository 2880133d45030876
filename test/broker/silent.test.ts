import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { HostileBroker } from "../support/broker/hostile-broker.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";
import { lack, TestFleet } from "./site.ts";

/** Settings with which a site decides within seconds. */
const quick = {
  site: { name: "plant7" },
  board: { name: "pi-1", clock: "trusted" },
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "4s" },
  link: { watchStall: "10s", blip: "2s" },
  status: { minInterval: "200ms", every: "5s" },
};

/** Milliseconds. The service has 20 s to stop; the broker must not use that up. */
const promised = 5000;

const sites: LinkedSite[] = [];
const brokers: HostileBroker[] = [];
afterEach(async () => {
  for (const site of sites.splice(0)) await site.stop();
  for (const broker of brokers.splice(0)) broker.stop();
});

async function siteWith(mqtt: object): Promise<LinkedSite> {
  const site = await new LinkedSite({ config: { ...quick, mqtt: { fleet: "acme", ...mqtt } } }).start();
  sites.push(site);
  await expect.poll(() => site.agent.isReady, { timeout: 30_000 }).toBe(true);
  return site;
}

async function hostile(): Promise<HostileBroker> {
  const broker = await new HostileBroker().start();
  brokers.push(broker);
  return broker;
}

/** Stops the agent and returns the time that it took. */
async function ending(site: LinkedSite): Promise<number> {
  const begun = performance.now();
  expect(await site.agent.stop()).toBe(0);
  return performance.now() - begun;
}

const lease = (site: LinkedSite) =>
  site.request<{ spec: { holderIdentity: string; renewTime: string } }>(
    "GET",
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/siteward-plant7",
  );

const broken = (site: LinkedSite) =>
  site.agent.status()?.health.conditions.find(({ type }) => type === "BrokerUnreachable");

/** Changes a setting of the board, which begins a new life of the agent. */
function change(site: LinkedSite): void {
  const file = path.join(site.agent.dir, "siteward.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("gracePeriod: 4s", "gracePeriod: 5s"));
  process.kill(site.agent.pid, "SIGHUP");
}

describe.skipIf(lack)("a mosquitto that hangs", () => {
  async function connected(): Promise<{ fleet: TestFleet; site: LinkedSite }> {
    const fleet = await new TestFleet().start();
    const { certificate, key } = fleet.broker.authority.issue("acme/plant7/pi-1");
    const site = await siteWith({ url: fleet.broker.url, certificate, key, ca: fleet.broker.authority.file });
    await expect
      .poll(() => fleet.last("sw1/acme/plant7/pi-1/up"), { timeout: 20_000 })
      .toMatchObject({ state: "online" });
    return { fleet, site };
  }

  test("does not delay the leader's exit or the release of its Lease", async () => {
    const { fleet, site } = await connected();
    fleet.broker.suspend();
    // Long enough for an unacknowledged message to be in flight.
    await rest(6);
    expect(await ending(site)).toBeLessThan(promised);
    expect((await lease(site)).spec.holderIdentity).toBe("");
    fleet.broker.resume();
  });

  test("does not delay the exit of a board that is also cut off from the API", async () => {
    const { fleet, site } = await connected();
    fleet.broker.suspend();
    site.link.set({ silent: true });
    await expect.poll(() => site.agent.status()?.leader?.role, { timeout: 30_000 }).not.toBe("leader");
    expect(await ending(site)).toBeLessThan(promised);
    fleet.broker.resume();
  });
});

describe("a broker that answers pings but acknowledges nothing", () => {
  test.each(["publish", "subscribe"] as const)("does not delay the agent's exit (%s)", async (what) => {
    const broker = await hostile();
    broker.acknowledges[what] = false;
    const site = await siteWith({ url: broker.url });
    await expect.poll(() => broker.published("/up").length).toBeGreaterThan(0);
    expect(await ending(site)).toBeLessThan(promised);
    expect((await lease(site)).spec.holderIdentity).toBe("");
  });

  test("does not prevent a new life of the agent, which manages the site", async () => {
    const broker = await hostile();
    broker.acknowledges.publish = false;
    const site = await siteWith({ url: broker.url });
    await expect.poll(() => broker.published("/up").length).toBeGreaterThan(0);
    const begun = performance.now();
    change(site);
    await expect.poll(() => broker.connections, { timeout: promised }).toBe(2);
    expect(performance.now() - begun).toBeLessThan(promised);
    await expect.poll(() => site.agent.isReady, { timeout: 20_000 }).toBe(true);
    site.silence(1);
    await expect.poll(() => site.taints(1), { timeout: 20_000 }).toContain("unreachable:NoSchedule");
  });

  test("is reported in the status and retried less and less often", async () => {
    const broker = await hostile();
    broker.acknowledges.publish = false;
    const site = await siteWith({ url: broker.url, reconnect: { first: "100ms", most: "1s", refused: "1s" } });
    await expect
      .poll(() => broken(site)?.message, { timeout: 45_000 })
      .toContain("does not acknowledge messages of this board");
    await expect.poll(() => broker.connections, { timeout: 10_000 }).toBe(2);
    // An answer to CONNECT alone does not count as healthy.
    await rest(3);
    expect(broken(site)).toBeDefined();
    expect(site.agent.log()).not.toContain("another client uses this board's identity");
  });
});

test("a broker that refuses the board's subscriptions is reported with a hint", async () => {
  const broker = await hostile();
  broker.reasonFor = (what) => (what.endsWith("pi-1/cmd/#") ? 0x87 : undefined);
  const site = await siteWith({ url: broker.url, reconnect: { first: "100ms", most: "2s", refused: "1s" } });
  await expect
    .poll(() => broken(site), { timeout: 20_000 })
    .toMatchObject({
      severity: "warning",
      message: expect.stringMatching(/refuses a subscription \(.*cmd\/#\): not authorized \(0x87\)/),
      hint: expect.stringContaining("siteward broker-acl"),
    });
  await expect.poll(() => broker.connections, { timeout: 20_000 }).toBeGreaterThan(2);
});

test("a broker that refuses the site's commands to its leader has no other effect", async () => {
  const broker = await hostile();
  broker.reasonFor = (what) => (what.includes("_site/cmd") ? 0x87 : undefined);
  const site = await siteWith({ url: broker.url });
  const problem = () => site.agent.status()?.health.conditions.find(({ type }) => type === "SiteCommandsRefused");
  await expect.poll(problem, { timeout: 20_000 }).toMatchObject({
    message: expect.stringContaining("_site/cmd/#"),
    hint: expect.stringContaining("siteward broker-acl"),
  });
  broker.publish("sw1/acme/plant7/pi-1/cmd/ping/P1", JSON.stringify({ v: 1, id: "P1", name: "ping" }), {
    properties: { messageExpiryInterval: 60 },
  });
  await expect.poll(() => broker.published("/res/ping/P1").length, { timeout: 10_000 }).toBe(1);
  expect([broker.connections, broken(site)]).toEqual([1, undefined]);
});
