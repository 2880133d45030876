import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/agent-process.ts";
import { rest } from "../support/rest.ts";
import type { Ran } from "../support/systemd-host.ts";
import { Board, root, whyNoHost } from "./board.ts";

const socket = "/run/siteward/ctl.sock";
const node = "/usr/lib/siteward/bin/node";

describe.skipIf(whyNoHost !== undefined)("the control socket and the users of a board", () => {
  let board: Board;
  let before: { readonly pid: number; readonly term: number | undefined };

  beforeAll(async () => {
    board = await Board.make();
    await board.host.sh(`
      useradd --no-create-home visitor && useradd --no-create-home --groups siteward member
      install -m 755 '${path.join(root, "test/systemd/ctl-attack.mjs")}' /tmp/ctl-attack.mjs`);
    await board.configure({
      status: { every: "5s", minInterval: "200ms" },
      leader: { duration: "15s", renewDeadline: "10s", retry: "2s" },
    });
    await board.site();
    await board.start();
    const status = await board.untilStatus("it leads", ({ leader }) => leader?.role === "leader");
    before = { pid: await board.pid(), term: status.leader?.term };
  });

  afterAll(async () => {
    await board?.end();
  });

  const as = (user: string, command: string): Promise<Ran> =>
    board.host.run(["runuser", "-u", user, "--", "bash", "-c", command]);

  async function attack(user: string, way: string, count: number): Promise<Readonly<Record<string, number>>> {
    const { stdout, stderr } = await as(user, `${node} /tmp/ctl-attack.mjs ${way} ${socket} ${count}`);
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout);
  }

  const healthz = (user: string): Promise<Ran> =>
    as(user, `exec 2>&1; curl -sS -m 5 --unix-socket ${socket} http://x/healthz`);
  const descriptors = async (): Promise<number> => Number(await board.host.sh(`ls /proc/${before.pid}/fd | wc -l`));
  const rss = async (): Promise<number> =>
    Number(await board.host.sh(`awk '/^VmRSS/ { print $2 }' /proc/${before.pid}/status`)) / 1024;

  /** The least memory within 20 s, in MiB: garbage that is about to be collected does not count. */
  async function rssAtRest(): Promise<number> {
    let least = await rss();
    for (let second = 0; second < 20; second++) {
      await rest(1);
      least = Math.min(least, await rss());
    }
    return least;
  }

  /** Checks that the agent is the same process in the same term, and writes its status. */
  async function isUnmoved(): Promise<void> {
    const earlier = (await board.status())?.writtenAt;
    const status = await board.untilStatus("a newer status", ({ writtenAt }) => writtenAt !== earlier);
    expect({ pid: await board.pid(), role: status.leader?.role, term: status.leader?.term }).toEqual({
      ...before,
      role: "leader",
    });
    expect((await board.host.unit("siteward", "NRestarts")).NRestarts).toBe("0");
  }

  test("another user can neither connect nor replace the socket", async () => {
    expect(await attack("visitor", "whole", 500)).toEqual({ EACCES: 500 });
    const tries = [
      `rm -f ${socket}`,
      `mv ${socket} /tmp/mine`,
      `ln -sf /etc/passwd ${socket}`,
      `ln -s /tmp/x /run/siteward/status.json.new`,
      `touch /run/siteward/mine`,
      `rm -rf /run/siteward`,
      `chmod 666 ${socket}`,
    ];
    for (const user of ["visitor", "member"])
      for (const command of tries) {
        const { code } = await as(user, command);
        expect([user, command, code === 0]).toEqual([user, command, false]);
      }
    expect(await board.host.sh(`stat -c '%U %G %a %F' ${socket}`)).toBe("siteward siteward 660 socket");
    expect((await healthz("member")).stdout).toBe("ok\n");
    await isUnmoved();
  });

  test("root and members of the group may send commands, and the journal distinguishes them", async () => {
    const command = `${node} /usr/lib/siteward/dist/main.js cmd log.level '{"level":"info","ttl":60}' --reason CHG-1`;
    for (const user of ["member", "root"]) {
      const { code, stdout, stderr } = await as(user, command);
      expect([user, code, stdout + stderr]).toEqual([user, 0, expect.any(String)]);
    }
    expect((await as("visitor", command)).code).not.toBe(0);
    const uid = await board.host.sh("id -u member");
    expect(await board.journal()).toContain(`local:${uid}`);
    expect(await board.journal()).toContain("local:0");
  });

  test("a thousand connections of a member, of five kinds, block others only briefly and cost the agent nothing", async () => {
    const open = await descriptors();
    const flood = async (): Promise<void> => {
      const floods = ["silent", "half", "slow", "huge", "endless"].map((way) => attack("member", way, 200));
      await until("root gets an answer", async () => (await healthz("root")).stdout === "ok\n", 40);
      expect(await descriptors()).toBeLessThan(open + 300);
      await Promise.all(floods);
      await until("the connections are closed", async () => (await descriptors()) <= open + 4, 60);
    };
    await flood();
    // The first flood compiles code and makes the heap larger, by how much depends on the machine. A leak would grow by far
    // more again: the agent receives some 100 MB in each.
    const size = await rssAtRest();
    await flood();
    await until("the second flood costs no more memory", async () => (await rss()) - size < 25, 60);
    await isUnmoved();
  }, 400_000);

  test("a removed socket is created again, and a link in its place is neither followed nor removed", async () => {
    const isBack = async (): Promise<boolean> => (await healthz("member")).stdout === "ok\n";
    await board.host.sh(`echo precious > /root/precious && rm ${socket} && ln -s /root/precious ${socket}`);
    await until("the socket is unreachable", async () => !(await isBack()), 5);
    await isUnmoved();
    await board.host.sh(`test "$(cat /root/precious)" = precious && test -L ${socket} && rm ${socket}`);
    await until("it is created again", isBack, 70);
    expect(await board.host.sh(`stat -c '%U %G %a %F' ${socket}`)).toBe("siteward siteward 660 socket");
    await isUnmoved();
  });
});
