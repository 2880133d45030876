import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Status } from "../../agent/status/schema.ts";
import { rest } from "../support/rest.ts";
import { Board, kubeconfigFor, whyNoHost } from "./board.ts";

const isHeld = ({ conditions }: Status["health"]): boolean => conditions.some(({ type }) => type === "AgentHeld");

describe.skipIf(whyNoHost !== undefined)("the service of a board", () => {
  let board: Board;

  beforeAll(async () => {
    board = await Board.make();
  });

  afterAll(async () => {
    await board?.end();
  });

  beforeEach(async () => {
    await board.reset();
  });

  /** Starts the agent on read-only state, and repairs that mount once the agent is held. Returns its process id. */
  async function heldUntilMended(mount: string): Promise<number> {
    await board.start();
    const pid = await board.pid();
    await board.untilStatus(
      "it is held and reads from the API",
      ({ health, link }) => isHeld(health) && link?.api.state === "up",
    );
    await board.host.sh(`mount -o remount,rw ${mount}`);
    return pid;
  }

  test("without any network it is active, and its status reports that the API is unreachable", async () => {
    await board.enrol(kubeconfigFor("https://192.0.2.1:6443"));
    await board.start();
    const { ActiveState, NotifyAccess, Type } = await board.host.unit(
      "siteward",
      "ActiveState",
      "NotifyAccess",
      "Type",
    );
    expect({ ActiveState, NotifyAccess, Type }).toEqual({
      ActiveState: "active",
      NotifyAccess: "main",
      Type: "notify",
    });
    const status = await board.untilStatus("the API is down", ({ link }) => link?.api.state === "down");
    expect(status.pid).toBe(await board.pid());
    expect(status.health.conditions.map(({ type }) => type)).toContain("ApiUnreachable");
    const line = (await board.host.unit("siteward", "StatusText")).StatusText;
    expect(line).toMatch(/^standby default · api down · rss \d+\/\d+M$/);
    expect(await board.host.sh("ps -o user= -p $(systemctl show siteward -P MainPID)")).toBe("siteward");
  });

  test("a board without enrolment starts and reports the missing credentials; with them it works", async () => {
    await board.start();
    const without = await board.untilStatus("credentials are missed", ({ health }) => health.level === "critical");
    expect(without.health.conditions).toContainEqual(
      expect.objectContaining({
        type: "CredentialsInvalid",
        message: expect.stringContaining("this board has no credentials for the API"),
        hint: expect.stringContaining("siteward enroll"),
      }),
    );
    await board.site();
    await board.host.sh("systemctl restart siteward");
    await board.untilStatus("it leads", ({ leader }) => leader?.role === "leader");
    // Only systemd passes them: the agent cannot read the folder.
    expect(await board.host.sh("stat -c '%U %a' /etc/siteward/credentials")).toBe("root 700");
    expect((await board.host.unit("siteward", "StatusText")).StatusText).toMatch(/^leader default t0 · nodes 0\/0/);
  });

  test("a leader that is stopped releases its Lease and exits within five seconds", async () => {
    await board.site();
    await board.start();
    await board.untilStatus("it leads", ({ leader }) => leader?.role === "leader");
    const begun = performance.now();
    await board.host.sh("systemctl stop siteward");
    expect(performance.now() - begun).toBeLessThan(5000);
    const { Result, ExecMainStatus } = await board.host.unit("siteward", "Result", "ExecMainStatus");
    expect({ Result, ExecMainStatus }).toEqual({ Result: "success", ExecMainStatus: "0" });
    expect(await board.journal()).toMatch(/lease released.*\n(.*\n)*.*stopped/);
    expect(await board.host.sh("find /var/lib/siteward -name '*-wal' -size +0")).toBe("");
  });

  test("the watchdog kills and restarts a suspended process", async () => {
    await board.drop("watchdog", "WatchdogSec=4");
    await board.start();
    const before = await board.pid();
    await rest(9);
    expect(await board.pid()).toBe(before);
    await board.host.sh(`kill -STOP ${before}`);
    await board.host.until("siteward", { Result: "watchdog" }, 20);
    await board.host.until("siteward", { ActiveState: "active", SubState: "running" }, 60);
    expect(await board.pid()).not.toBe(before);
    const status = await board.untilStatus("the new process", ({ pid }) => pid !== before);
    expect(status.previous?.cause).toBe("unclean");
    expect((await board.host.unit("siteward", "NRestarts")).NRestarts).toBe("1");
  });

  test("a killed process is restarted, and reports the restart", async () => {
    await board.start();
    const before = await board.pid();
    await board.host.sh(`kill -KILL ${before}`);
    await board.host.until("siteward", { NRestarts: "1", ActiveState: "active" }, 60);
    const status = await board.untilStatus("the new process", ({ pid }) => pid !== before);
    expect(status.health.conditions).toContainEqual(
      expect.objectContaining({ type: "RestartedItself", severity: "info" }),
    );
  });

  test("a read-only state folder holds the agent: it keeps running, reports why, and begins once it can write", async () => {
    await board.drop("read-only", "ReadOnlyPaths=/var/lib/siteward");
    await board.start();
    const pid = await board.pid();
    await board.untilStatus("it is held", ({ health }) => isHeld(health));
    expect((await board.host.unit("siteward", "StatusText")).StatusText).toMatch(/AgentHeld/);
    // The mount is read-only on purpose: a new process would find the same.
    await rest(10);
    expect((await board.host.unit("siteward", "NRestarts")).NRestarts).toBe("0");
    await board.host.sh(`nsenter -t ${pid} -m mount -o remount,bind,rw /var/lib/siteward`);
    await board.untilStatus("it is no longer held", ({ health }) => !isHeld(health), 60);
    expect(await board.pid()).toBe(pid);
  });

  test.each(["as shipped", "hardened"])(
    "a card that became read-only after an error is used again once it is repaired, by the same process: %s",
    async (how) => {
      await board.site();
      if (how === "hardened") {
        const harden = "/usr/lib/siteward/bin/node /usr/lib/siteward/dist/main.js harden --write";
        await board.host.sh(`${harden} && systemctl daemon-reload`);
      }
      // After an error the kernel makes the file system read-only; its mounts stay unchanged.
      await board.host.sh(`
      mkdir -p /srv/card && mount -t tmpfs -o size=16m,mode=700 card /srv/card && chown siteward: /srv/card
      mount --bind /srv/card /var/lib/siteward && mount -o remount,ro /srv/card`);
      try {
        const pid = await heldUntilMended("/srv/card");
        await board.untilStatus("it leads", ({ leader, health }) => leader?.role === "leader" && !isHeld(health), 80);
        expect(await board.pid()).toBe(pid);
      } finally {
        await board.host.sh("systemctl stop siteward; umount /var/lib/siteward; umount /srv/card");
      }
    },
  );

  test("if only systemd can provide a writable mount, the agent exits once, as soon as there is one", async () => {
    await board.site();
    await board.host.sh(`
      mount -t tmpfs -o size=16m,mode=700 card /var/lib/siteward && chown siteward: /var/lib/siteward
      mount -o remount,ro /var/lib/siteward`);
    try {
      const pid = await heldUntilMended("/var/lib/siteward");
      const status = await board.untilStatus("another one leads", ({ leader }) => leader?.role === "leader", 80);
      expect(status.pid).not.toBe(pid);
      expect(status.previous).toMatchObject({ cause: "storage" });
      expect(isHeld(status.health)).toBe(false);
      expect((await board.host.unit("siteward", "NRestarts")).NRestarts).toBe("1");
    } finally {
      await board.host.sh("systemctl stop siteward; umount /var/lib/siteward");
    }
  });

  test("a start with much to recover first requests more time from systemd", async () => {
    await board.host.sh("systemd-analyze log-level debug");
    await board.host.sh(
      "truncate -s 100M /var/lib/siteward/cache.db-wal && chown siteward: /var/lib/siteward/cache.db-wal",
    );
    await board.start();
    await board.host.sh("systemd-analyze log-level info && journalctl --sync");
    const reported = await board.host.sh(
      "journalctl --no-pager -o cat _PID=1 | grep 'Got notification message from PID'",
    );
    expect(reported).toMatch(/\(EXTEND_TIMEOUT_USEC=204800000\)\n(.*\n)*.*\(READY=1\)/);
  });

  test("the service is not restarted for an unusable configuration", async () => {
    await board.configure({ leader: { retry: "a while" } });
    expect((await board.host.run("systemctl start siteward")).code).not.toBe(0);
    const { ExecMainStatus, NRestarts } = await board.host.unit("siteward", "ExecMainStatus", "NRestarts");
    expect({ ExecMainStatus, NRestarts }).toEqual({ ExecMainStatus: "78", NRestarts: "0" });
    expect(await board.journal()).toContain('leader.retry cannot be "a while"');
  });

  test("journal entries carry their fields and their priority", async () => {
    await board.start();
    await board.untilStatus("something was logged", ({ link }) => link?.api.state === "down");
    await board.host.sh("journalctl --sync");
    const [line = ""] = (await board.host.sh("journalctl -o json SITEWARD_HINT --no-pager | tail -1 || true")).split(
      "\n",
    );
    const said = line || (await board.host.sh("journalctl -u siteward -o json -p warning --no-pager | tail -1"));
    const entry = JSON.parse(said) as Readonly<Record<string, string>>;
    expect(entry).toMatchObject({
      SYSLOG_IDENTIFIER: "siteward",
      PRIORITY: "4",
      _TRANSPORT: "journal",
      SITEWARD_REASON: "this board has no credentials for the API",
    });
  });
});

describe.skipIf(whyNoHost !== undefined)("systemctl reload", () => {
  let board: Board;

  beforeAll(async () => {
    board = await Board.make();
    await board.site();
    await board.start();
  });

  afterAll(async () => {
    await board?.end();
  });

  const reload = (): Promise<string> => board.host.sh("systemctl reload siteward", { seconds: 60 });

  test("applies a new log level immediately, and the agent keeps leading", async () => {
    const pid = await board.pid();
    await board.untilStatus("it leads", ({ leader }) => leader?.role === "leader");
    await board.configure({ log: { level: "debug" } });
    await reload();
    const status = await board.untilStatus("it leads", ({ leader }) => leader?.role === "leader");
    expect(status.leader?.term).toBe(0);
    expect(await board.pid()).toBe(pid);
    expect(await board.journal()).toContain("the configuration was read again outcome=taken");
  });

  test("begins a new life in the same process for any other change", async () => {
    const pid = await board.pid();
    await board.configure({ judgement: { recovery: "7m" } });
    await reload();
    // The Lease was released, and the next term is the agent's again.
    const status = await board.untilStatus(
      "it leads again",
      ({ leader }) => leader?.role === "leader" && leader.term === 1,
    );
    expect(status.pid).toBe(pid);
    expect(await board.host.unit("siteward", "ActiveState", "NRestarts")).toEqual({
      ActiveState: "active",
      NRestarts: "0",
    });
    expect(await board.journal()).toMatch(/outcome=begins/);
  });

  test("refuses an invalid configuration with a sentence, and the previous one stays in force", async () => {
    const pid = await board.pid();
    await board.configure({ judgement: { recovery: "7m" }, leader: { retry: "a while" } });
    await reload();
    const status = await board.untilStatus("it is refused", ({ health }) =>
      health.conditions.some(({ type }) => type === "ConfigRefused"),
    );
    expect(status).toMatchObject({ pid, leader: { role: "leader", term: 1 } });
    const reported = status.health.conditions.find(({ type }) => type === "ConfigRefused")?.message;
    expect(reported).toContain('siteward.yaml:6: leader.retry cannot be "a while"');
    await board.configure({ judgement: { recovery: "7m" } });
    await reload();
    await board.untilStatus(
      "all is well",
      ({ health }) => !health.conditions.some(({ type }) => type === "ConfigRefused"),
    );
  });

  test("replaces a configuration that prevents the start by the previous one", async () => {
    const pid = await board.pid();
    await board.configure({ judgement: { recovery: "7m" }, state: { folder: "/proc/nowhere" } });
    await reload();
    const status = await board.untilStatus("it is refused", ({ health }) =>
      health.conditions.some(({ type }) => type === "ConfigRefused"),
    );
    expect(status.pid).toBe(pid);
    await board.untilStatus("it leads", ({ leader }) => leader?.role === "leader");
    expect((await board.host.unit("siteward", "ActiveState")).ActiveState).toBe("active");
  });
});
