import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../agent/base/clock.ts";
import { dispatch } from "../../agent/cli/dispatch.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { LinkedSite } from "../support/linked-site.ts";
import { recordingIo } from "../support/recording-io.ts";
import { lack, TestFleet } from "./site.ts";

/** A site that decides within seconds. */
const quick = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms", gracePeriod: "4s", startupGracePeriod: "4s" },
  link: { watchStall: "10s", blip: "2s" },
};

const sites: LinkedSite[] = [];
afterEach(async () => {
  for (const site of sites.splice(0)) await site.stop();
});

const me = "sw1/acme/plant7/pi-1";

/** A site whose one agent is the bundle, as it ships, with a broker that has TLS and the generated ACL. */
async function siteWith(fleet: TestFleet): Promise<LinkedSite> {
  const config = { ...quick, site: { name: "plant7" }, mqtt: fleet.agentSettings(), remote: { canary: "5s" } };
  const site = await new LinkedSite({ config }).start();
  sites.push(site);
  return site;
}

const up = (fleet: TestFleet, session: number) =>
  expect.poll(() => fleet.last(`${me}/up`), { timeout: 20_000 }).toMatchObject({ state: "online", session });

const desire = (fleet: TestFleet, version: number, config: object) =>
  fleet.ops?.publishAsync(`${me}/config/desired`, JSON.stringify({ v: 1, version, config }), { qos: 1, retain: true });

const reported = (fleet: TestFleet, expected: object) =>
  expect.poll(() => fleet.last(`${me}/config/reported`), { timeout: 40_000 }).toMatchObject(expected);

describe.skipIf(lack)("a real agent in its fleet", () => {
  test("the site is looked after while the broker is gone, and while it hangs", async () => {
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
    const id = await fleet.command(me, "ping");
    await expect
      .poll(() => fleet.last(`${me}/res/ping/${id}`), { timeout: 20_000 })
      .toMatchObject({ state: "succeeded" });
    expect(await site.agent.stop()).toBe(0);
    await expect.poll(() => fleet.last(`${me}/up`)).toMatchObject({ state: "offline", cause: "stop" });
  });

  test("an agent that is killed comes back with the next session, and goes on counting its events", async () => {
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
    // Numbers go on where they were; one that was not acknowledged may come twice, and never with another content.
    expect(Math.max(...seqs())).toBe(new Set(seqs()).size);
  });

  test("settings of the fleet come into force, are kept over a restart, and are taken back where they cost the link", async () => {
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

  test("an agent that is killed in the middle of a trial goes on with it once", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await desire(fleet, 1, { status: { every: "7s" } });
    await reported(fleet, { desiredVersion: 1, state: "applying" });
    await site.agent.stop("SIGKILL");
    site.agent.start();
    await reported(fleet, { desiredVersion: 1, appliedVersion: 1, state: "in-sync" });
  });

  test("an operator on the board takes the fleet's settings off it, and the fleet is told; its next ones are taken again", async () => {
    const fleet = await new TestFleet().start();
    const site = await siteWith(fleet);
    await up(fleet, 1);
    await desire(fleet, 1, { status: { every: "7s" } });
    await reported(fleet, { desiredVersion: 1, state: "applying" });
    // In the middle of its trial, which is not waited for.
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

  test("a level of the log, and what changes nothing, need no new life, through a kill in the middle; what follows is taken", async () => {
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
    expect(site.agent.log()).not.toContain("are on trial");
    expect([fleet.last(`${me}/up`), site.agent.status()?.leader?.term]).toMatchObject([{ session: 1 }, term]);

    await desire(fleet, 3, { log: { level: "debug" } });
    await reported(fleet, { desiredVersion: 3, state: "applying" });
    await site.agent.stop("SIGKILL");
    site.agent.start();
    await reported(fleet, { desiredVersion: 3, appliedVersion: 3, state: "in-sync" });
    await desire(fleet, 4, { status: { every: "6s" } });
    await reported(fleet, { desiredVersion: 4, appliedVersion: 4, state: "in-sync" });
  });

  test("a board without a fleet asks nothing of one, and is no worse", async () => {
    const site = await new LinkedSite({ config: quick }).start();
    sites.push(site);
    await expect.poll(() => site.agent.isReady, { timeout: 30_000 }).toBe(true);
    expect(site.agent).toBeInstanceOf(AgentProcess);
    expect(site.agent.log()).not.toContain("fleet");
  });
});
