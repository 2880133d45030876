import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { rest } from "../support/rest.ts";
import { Board, whyNoHost } from "./board.ts";

describe.skipIf(whyNoHost !== undefined)("the sandbox", () => {
  let board: Board;

  beforeAll(async () => {
    board = await Board.make();
    await board.host.sh("ln -s /usr/lib/siteward/bin/node /usr/local/bin/node24");
  });

  afterAll(async () => {
    await board?.end();
  });

  beforeEach(async () => {
    await board.reset();
    await board.site();
  });

  const siteward = (words: string): Promise<string> =>
    board.host.sh(`/usr/lib/siteward/bin/node /usr/lib/siteward/dist/main.js ${words}`);

  async function exposure(): Promise<number> {
    const table = await board.host.sh("systemd-analyze security --offline=true --no-pager siteward.service");
    return Number(/Overall exposure level for siteward\.service: ([\d.]+)/.exec(table)?.[1]);
  }

  /** Waits until every loop has run for a while, so that V8 has compiled its code. */
  async function expectToLead(): Promise<void> {
    await board.start();
    await board.untilStatus(
      "it leads and its caches are current",
      ({ health, leader }) => leader?.role === "leader" && health.ready,
    );
    const pid = await board.pid();
    await rest(15);
    const { ActiveState, NRestarts } = await board.host.unit("siteward", "ActiveState", "NRestarts");
    expect({ pid: await board.pid(), ActiveState, NRestarts }).toEqual({ pid, ActiveState: "active", NRestarts: "0" });
    // Programs that the agent starts cannot send notifications for it.
    expect(await board.host.sh("journalctl --no-pager | grep -c 'reception only permitted' || true")).toBe("0");
  }

  test("lets the agent lead a site as shipped, with an exposure of at most 1.2", async () => {
    await expectToLead();
    expect(await exposure()).toBeLessThanOrEqual(1.2);
    const pid = await board.pid();
    expect(
      await board.host.sh(`grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/${pid}/status | tr -s '\\t\\n' ' '`),
    ).toBe("CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ");
    // Only the state, the run folder and, for root, the configuration are writable.
    expect((await board.host.run(`nsenter -t ${pid} -m touch /etc/x /usr/x`)).stderr.match(/Read-only/g)).toHaveLength(
      2,
    );
    expect(await board.host.sh("stat -c '%U %a' /etc/siteward")).toBe("root 755");
  });

  test("lets the agent lead a site when hardened, without compiled code and with an exposure of at most 0.9", async () => {
    expect(await siteward("harden")).toMatch(/^IPAddressAllow=127\.0\.0\.1$/m);
    await siteward("harden --write");
    // As on every other board; here the API server is on the board itself.
    await board.host.sh("echo IPAddressAllow=192.0.2.0/24 >> /etc/systemd/system/siteward.service.d/30-hardened.conf");
    await board.host.sh("systemctl daemon-reload");
    await expectToLead();
    expect((await board.host.run("ls /proc/$(systemctl show siteward -P MainPID)/root/home")).code).not.toBe(0);
    const { MemoryDenyWriteExecute, IPAddressDeny } = await board.host.unit(
      "siteward",
      "MemoryDenyWriteExecute",
      "IPAddressDeny",
    );
    expect(MemoryDenyWriteExecute).toBe("yes");
    expect(IPAddressDeny.split(" ").sort()).toEqual(["0.0.0.0/0", "::/0"]);
    expect(await exposure()).toBeLessThanOrEqual(0.9);
    const pid = await board.pid();
    expect(await board.host.sh(`tr '\\0' ' ' < /proc/${pid}/cmdline`)).toContain(" --jitless ");
    expect(await board.host.sh(`grep -c ' rwxp ' /proc/${pid}/maps || true`)).toBe("0");
  });

  test("refuses memory that is both writable and executable: V8 with its compilers does not start", async () => {
    await board.drop("30-hardened", "MemoryDenyWriteExecute=yes\nRestart=no");
    expect((await board.host.run("systemctl start siteward")).code).not.toBe(0);
    expect((await board.host.unit("siteward", "Result")).Result).toMatch(/core-dump|signal/);
  });

  test("the flags of the board's profile follow those of the unit", async () => {
    await board.drop("10-profile", 'Environment="SITEWARD_NODE_FLAGS=--max-old-space-size=48 --max-semi-space-size=2"');
    await board.start();
    const line = await board.host.sh("tr '\\0' ' ' < /proc/$(systemctl show siteward -P MainPID)/cmdline");
    expect(line).toMatch(
      /--max-old-space-size=64 .* --max-old-space-size=48 --max-semi-space-size=2 \/usr\/lib\/siteward\/dist/,
    );
  });
});
