import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../agent/base/clock.ts";
import { dispatch } from "../../agent/cli/dispatch.ts";
import { newKeyPair, signatureOf } from "../../agent/commands/desk/signature.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { recordingIo } from "../support/recording-io.ts";
import { lack, TestFleet } from "./site.ts";

/** Settings with which a site decides within seconds. */
const quick = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "4s" },
  link: { watchStall: "10s", blip: "2s" },
};

const sites: LinkedSite[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  for (const site of sites.splice(0)) await site.stop();
});

const me = "sw1/acme/plant7/pi-1";

/** A site with one agent, the shipped bundle, and a broker with TLS and the generated ACL. */
async function siteWith(fleet: TestFleet, more: Readonly<Record<string, object>> = {}): Promise<LinkedSite> {
  const config = { ...quick, site: { name: "plant7" }, mqtt: fleet.agentSettings(), remote: { canary: "5s" }, ...more };
  const site = await new LinkedSite({ config }).start();
  sites.push(site);
  return site;
}

const up = (fleet: TestFleet, session: number) =>
  expect.poll(() => fleet.last(`${me}/up`), { timeout: 20_000 }).toMatchObject({ state: "online", session });

const desire = (fleet: TestFleet, version: number, config: object) =>
  fleet.ops?.publishAsync(`${me}/config/desired`, JSON.stringify({ v: 1, version, config }), { qos: 1, retain: true });

const documentOf = (version: number, every: string): string =>
  JSON.stringify({ v: 1, version, config: { status: { every } } });

const reported = (fleet: TestFleet, expected: object) =>
  expect.poll(() => fleet.last(`${me}/config/reported`), { timeout: 40_000 }).toMatchObject(expected);

describe.skipIf(lack)("a real agent in its fleet", () => {
  test("the site is managed while the broker is down or hangs", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await expect.poll(() => site.agent.isReady, { timeout: 30_000 }).toBe(true);
    await fleet.broker.kill();
    site.silence(1);
    await expect.poll(() => site.taints(1), { timeout: 30_000 }).toContain("unreachable:NoSchedule");
    await fleet.broker.restart();
    await expect.poll(() => fleet.said(`${me}/up`).length, { timeout: 20_000 }).toBeGreaterThan(1);
    fleet.broker.suspend();
    site.silence(2);
    await expect.poll(() => site.taints(2), { timeout: 30_000 }).toContain("unreachable:NoSchedule");
    fleet.broker.resume();
    await expect
      .poll(() => fleet.last("sw1/acme/plant7/_site/event/acts.decided"), { timeout: 20_000 })
      .toMatchObject({ severity: "warning", board: "pi-1" });
    const id = await fleet.command(me, "ping");
    await expect
      .poll(() => fleet.last(`${me}/res/ping/${id}`), { timeout: 20_000 })
      .toMatchObject({ state: "succeeded" });
    expect(await site.agent.stop()).toBe(0);
    await expect.poll(() => fleet.last(`${me}/up`)).toMatchObject({ state: "offline", cause: "stop" });
  });

  test("a killed agent reconnects with the next session number, and continues the numbers of its events", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    const seqs = (): readonly number[] => fleet.events().map(({ seq }) => seq);
    await expect.poll(() => seqs().length, { timeout: 30_000 }).toBeGreaterThan(0);
    await site.agent.stop("SIGKILL");
    const before = seqs();
    site.agent.start();
    await up(fleet, 2);
    await expect.poll(() => seqs().length, { timeout: 40_000 }).toBeGreaterThan(before.length);
    // Numbers continue; an unacknowledged event may arrive twice, but never with different content.
    expect(Math.max(...seqs())).toBe(new Set(seqs()).size);
  });

  test("fleet settings are applied, survive a restart, and are rolled back if they break the link", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await desire(fleet, 1, { nodeLifecycle: { gracePeriod: "30s" }, status: { every: "5s" } });
    await reported(fleet, { desiredVersion: 1, state: "applying" });
    await reported(fleet, { desiredVersion: 1, appliedVersion: 1, state: "in-sync", errors: [] });
    await site.agent.stop("SIGKILL");
    site.agent.start();
    await reported(fleet, { appliedVersion: 1, state: "in-sync" });
    const { length } = fleet.said(`${me}/up`);
    await desire(fleet, 2, { mqtt: { url: "mqtts://127.0.0.1:1" } });
    await reported(fleet, {
      desiredVersion: 2,
      appliedVersion: 1,
      state: "rolled-back",
      errors: [{ code: "unhealthy" }],
    });
    expect(fleet.said(`${me}/up`).length).toBeGreaterThan(length);
    await expect
      .poll(() => fleet.last(`${me}/event/config.rolled-back`), { timeout: 20_000 })
      .toMatchObject({ severity: "critical", detail: { version: 2 } });
    await desire(fleet, 3, { board: { name: "other" } });
    await reported(fleet, {
      desiredVersion: 3,
      appliedVersion: 1,
      state: "rejected",
      errors: [{ path: "/board/name", code: "unsupported" }],
    });
    await desire(fleet, 4, { leader: { renewDeadline: "1h" } });
    await reported(fleet, { desiredVersion: 4, appliedVersion: 1, state: "rejected", errors: [{ code: "schema" }] });
  });

  test("a board with a trusted key accepts settings only if they are signed for this board, and only once", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "siteward-trust-"));
    folders.push(folder);
    const [ops, stranger] = [newKeyPair(), newKeyPair()];
    writeFileSync(path.join(folder, "ops.pub"), ops.publicKey);
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet, { commands: { trust: folder } });
    await up(fleet, 1);
    const topic = `${me}/config/desired`;
    const send = (version: number, every: string, signature?: { readonly sig: string; readonly kid: string }) =>
      fleet.ops?.publishAsync(topic, documentOf(version, every), {
        qos: 1,
        retain: true,
        ...(signature && { properties: { userProperties: signature } }),
      });
    const signed = (version: number, every: string, key = ops.privateKey, to = topic) =>
      send(version, every, { kid: "ops", sig: signatureOf(to, Buffer.from(documentOf(version, every)), key) });
    const refused = (desiredVersion: number, code: string, appliedVersion: number | null = null) =>
      reported(fleet, { desiredVersion, appliedVersion, state: "rejected", errors: [{ path: "", code }] });
    await send(1, "7s");
    await refused(1, "signature-missing");
    await signed(2, "7s", stranger.privateKey);
    await refused(2, "signature-invalid");
    await signed(3, "7s", ops.privateKey, "sw1/acme/plant7/pi-2/config/desired");
    await refused(3, "signature-invalid");
    await send(4, "7s", { kid: "unknown", sig: "x" });
    await refused(4, "signature-unknown-key");
    // The number of a refused document can be used again.
    await signed(1, "7s");
    await reported(fleet, { desiredVersion: 1, appliedVersion: 1, state: "in-sync", errors: [] });
    await signed(2, "8s");
    await reported(fleet, { desiredVersion: 2, appliedVersion: 2, state: "in-sync", errors: [] });
    await signed(1, "7s");
    await send(9, "9s");
    await refused(9, "signature-missing", 2);
    const problem = () => site.agent.status()?.health.conditions.find(({ type }) => type === "FleetConfigRefused");
    await expect.poll(problem, { timeout: 20_000 }).toMatchObject({
      message: "version 9 of the fleet settings is refused: this document must be signed; version 2 is in force",
      hint: expect.stringContaining("siteward sign"),
    });
  });

  test("an agent that is killed during a trial resumes it once", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await desire(fleet, 1, { status: { every: "7s" } });
    await reported(fleet, { desiredVersion: 1, state: "applying" });
    await site.agent.stop("SIGKILL");
    site.agent.start();
    await reported(fleet, { desiredVersion: 1, appliedVersion: 1, state: "in-sync" });
  });

  test("an operator rolls back fleet settings on the board; the fleet is notified, and its next version is accepted", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await desire(fleet, 1, { status: { every: "7s" } });
    await reported(fleet, { desiredVersion: 1, state: "applying" });
    // During its trial, without waiting for the end.
    const io = recordingIo({ clock: new SystemClock() });
    const socket = path.join(site.agent.dir, "run/ctl.sock");
    await expect
      .poll(() => dispatch(io, ["config", "rollback", "--reason", "CHG-1182", "--socket", socket]), {
        timeout: 20_000,
        interval: 500,
      })
      .toBe(0);
    expect(io.out()).toContain("this board's own files alone");
    await reported(fleet, {
      desiredVersion: 1,
      appliedVersion: null,
      state: "rolled-back",
      errors: [{ path: "", code: "by-command" }],
    });
    await desire(fleet, 2, { status: { every: "8s" } });
    await reported(fleet, { desiredVersion: 2, appliedVersion: 2, state: "in-sync" });
  });

  test("a log level and a version without changes do not need a new life, even after a kill; the next version is accepted", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await expect.poll(() => site.agent.isReady, { timeout: 30_000 }).toBe(true);
    const term = site.agent.status()?.leader?.term;
    await desire(fleet, 1, { log: { level: "info" } });
    await reported(fleet, { desiredVersion: 1, appliedVersion: 1, state: "in-sync", errors: [] });
    await desire(fleet, 2, { log: { level: "info" } });
    await reported(fleet, { desiredVersion: 2, appliedVersion: 2, state: "in-sync" });
    const id = await fleet.command(me, "config.get", { source: "remote" });
    await expect
      .poll(() => fleet.last(`${me}/res/config.get/${id}`), { timeout: 10_000 })
      .toMatchObject({ result: { settings: { "log.level": { value: "info", origin: "fleet, version 2" } } } });
    expect(site.agent.log()).not.toContain("trying the fleet's new settings");
    expect([fleet.last(`${me}/up`), site.agent.status()?.leader?.term]).toMatchObject([{ session: 1 }, term]);

    await desire(fleet, 3, { log: { level: "debug" } });
    await reported(fleet, { desiredVersion: 3, state: "applying" });
    await site.agent.stop("SIGKILL");
    site.agent.start();
    await reported(fleet, { desiredVersion: 3, appliedVersion: 3, state: "in-sync" });
    await desire(fleet, 4, { status: { every: "6s" } });
    await reported(fleet, { desiredVersion: 4, appliedVersion: 4, state: "in-sync" });
  });

  test("a board without a fleet works and logs nothing about one", async () => {
    const site = await new LinkedSite({ config: quick }).start();
    sites.push(site);
    await expect.poll(() => site.agent.isReady, { timeout: 30_000 }).toBe(true);
    expect(site.agent).toBeInstanceOf(AgentProcess);
    expect(site.agent.log()).not.toContain("fleet");
  });
});
