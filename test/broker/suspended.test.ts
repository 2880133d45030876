import { readFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { Status } from "../../agent/status/schema.ts";
import { AgentProcess } from "../support/agent-process.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { rest } from "../support/rest.ts";
import { siteward } from "../support/siteward-command.ts";
import { lack, soon, TestFleet } from "./site.ts";

const me = "sw1/acme/plant7/pi-1";
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const quick = {
  site: { name: "plant7" },
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s", followers: "poll" },
  nodeLifecycle: { monitorPeriod: "500ms" },
  status: { minInterval: "200ms", every: "5s" },
};

/** Seconds of the suspension; the broker publishes the will 30 s after it noticed the lost link. */
const suspension = Number(process.env.SITEWARD_TEST_SUSPENSION ?? 60);

const statusOf = (agent: AgentProcess): Status => JSON.parse(readFileSync(agent.statusFile, "utf8")) as Status;

/** The HTTP status of the operator's socket; undefined if it does not answer. */
const ready = (agent: AgentProcess): Promise<number | undefined> =>
  new Promise((resolve) => {
    const socketPath = path.join(agent.dir, "run/ctl.sock");
    const asked = request({ socketPath, path: "/status", agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once("timeout", () => asked.destroy());
    asked.once("error", () => resolve(undefined));
    asked.end();
  });

describe.skipIf(lack)("a leader that is suspended", () => {
  test("is noticed by site and fleet, and resumes completely when it wakes up", async () => {
    const fleet = await new TestFleet().start();
    const mqtt = { ...fleet.agentSettings(), keepalive: "10s" };
    const config = { ...quick, board: { name: "pi-1", clock: "trusted" }, mqtt };
    const site = await new LinkedSite({ config }).start();
    ends.push(() => site.stop());
    const { agent } = site;
    await soon(() => agent.isReady).toBe(true);
    await soon(() => fleet.last(`${me}/up`)).toMatchObject({ state: "online", session: 1 });
    const other = new AgentProcess({
      dir: site.dir,
      board: "pi-2",
      kubeconfig: path.join(site.dir, "kubeconfig"),
      config: quick,
    });
    other.start();
    ends.push(() => other.stop("SIGKILL"));
    await soon(() => other.status()?.leader?.role).toBe("standby");

    const { pid } = agent;
    agent.suspend();
    const begun = performance.now();
    // At once, while the broker still considers the link alive and forwards the message.
    const short = await fleet.command(me, "ping", {}, { expiry: 20 });
    await soon(() => other.isReady, 30).toBe(true);
    const exitCode = async (): Promise<number> => (await siteward(["status", "--file", agent.statusFile])).code;
    await soon(exitCode, 30).toBe(3);
    expect(await ready(agent)).toBeUndefined();
    const id = await fleet.command(me, "log.level", { level: "debug", ttl: 600 }, { expiry: 600 });
    await soon(() => fleet.last(`${me}/up`), 60).toMatchObject({ state: "offline", session: 1, cause: "lost" });
    await rest(suspension - (performance.now() - begun) / 1000);
    const term = other.status()?.leader?.term;

    agent.resume();
    await soon(() => fleet.last(`${me}/up`)).toMatchObject({ state: "online", session: 2 });
    // Commands sent in between waited at the broker and are executed once.
    await soon(() => fleet.last(`${me}/res/log.level/${id}`)).toMatchObject({ state: "succeeded" });
    // The expiry of forwarded commands elapsed while they were unread.
    await soon(() => fleet.last(`${me}/res/ping/${short}`)).toMatchObject({ state: "expired", code: 408 });
    await soon(() => ready(agent)).toBe(200);
    await soon(() => statusOf(agent).leader?.role).toBe("standby");
    await soon(() => statusOf(agent).leader?.holder).toBe("pi-2");
    expect(await exitCode()).toBeLessThan(3);
    expect(agent.pid).toBe(pid);
    // No loop is blamed for it.
    expect(agent.log()).not.toContain("a loop makes no progress");
    expect(fleet.received.filter(({ payload }) => payload.includes("LoopStuck"))).toEqual([]);
    await rest(10);
    expect([agent.leads, other.isReady, other.status()?.leader?.term]).toEqual([false, true, term]);
    // It takes over like any board and catches up on missed changes.
    await other.stop();
    await soon(() => agent.isReady, 30).toBe(true);
    expect(site.harm).toEqual([]);
    expect(await site.differences()).toEqual([]);
  });
});
