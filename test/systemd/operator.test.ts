import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Authority, hasOpenssl } from "../agent/client/certificates.ts";
import type { Ran } from "../support/systemd-host.ts";
import { Board, kubeconfigFor, whyNoHost } from "./board.ts";

/** The steps of an operator on a board, in the order of docs/operator.md. */
describe.skipIf(whyNoHost !== undefined)("an operator on a board with a real systemd", () => {
  let board: Board;

  beforeAll(async () => {
    board = await Board.make();
  });
  afterAll(async () => {
    await board?.end();
  });
  beforeEach(async () => {
    await board.reset();
    await board.site();
    await board.host.sh("rm -f /etc/siteward/credentials/*");
  });

  const siteward = (words: string): Promise<Ran> =>
    board.host.run(`/usr/lib/siteward/bin/node /usr/lib/siteward/dist/main.js ${words}`, { seconds: 90 });

  /** Waits until the agent is ready. Its health is degraded, because the host keeps its state in memory. */
  async function untilReady(): Promise<void> {
    const { stderr, code } = await siteward("status --wait ready --timeout 60");
    expect(stderr).toBe("");
    expect(code).toBeLessThanOrEqual(1);
  }

  async function enrolled(more = ""): Promise<Ran> {
    await board.host.write("/root/site.yaml", kubeconfigFor("http://127.0.0.1:6440"), "600");
    return siteward(`enroll --kubeconfig /root/site.yaml --no-doctor ${more}`);
  }

  test("the doctor reports missing credentials with the next step", async () => {
    const { code, stdout } = await siteward("doctor --only creds,api");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^\[FAIL\] creds\.files +this board has no credentials for the API\n +-> Enrol it \(sudo siteward enroll\)/m,
    );
  });

  test("the status of an agent that is not running shows the cause and the one step that helps", async () => {
    const asked = async (): Promise<string> => (await siteward("status")).stdout;
    expect(await asked()).toMatch(
      /^NOT RUNNING {2}this board has never been enrolled .*\n {2}-> sudo siteward enroll, then/,
    );
    await enrolled();
    expect(await asked()).toMatch(
      /^NOT RUNNING {2}its service is stopped, and not enabled .*\n {2}-> sudo systemctl enable/,
    );
    await board.host.write("/etc/siteward/siteward.yaml", "leder: {}\n");
    await board.host.run("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    expect(await asked()).toMatch(/^NOT RUNNING {2}its configuration cannot be used .*\n {2}-> siteward config check/);
  });

  test("enrolment is refused while the settings name a kubeconfig, which would take precedence", async () => {
    await board.configure({ api: { kubeconfig: "/etc/siteward/kubeconfig" } });
    const { code, stderr } = await enrolled();
    expect(code).toBe(78);
    expect(stderr).toMatch(
      /^siteward: api\.kubeconfig names \/etc\/siteward\/kubeconfig, and the service would keep using/,
    );
    expect(await board.host.sh("ls /etc/siteward/credentials")).toBe("");
  });

  test("every command that needs root refuses other users with one sentence and exit code 77", async () => {
    await enrolled();
    await board.host.sh("chmod 700 /etc/siteward/credentials && install -d -m 700 /var/lib/siteward");
    for (const words of ["harden", "harden --write", "enroll", "release --yes", "journal stats", "profile apply"]) {
      const script = `/usr/lib/siteward/bin/node /usr/lib/siteward/dist/main.js ${words}`;
      const { code, stdout, stderr } = await board.host.run([
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        ...script.split(" "),
      ]);
      expect([code, stdout], `${words}: ${stderr}`).toEqual([77, ""]);
      expect(stderr).toMatch(/^siteward: [^\n]*; only root may do this: sudo siteward [^\n]*\n$/);
    }
  });

  test("an enrolled and started agent leads within seconds, and the doctor finds its unit unchanged", async () => {
    const { code, stdout } = await enrolled();
    expect(stdout).toContain("next: sudo systemctl daemon-reload");
    expect(code).toBe(0);
    expect(await board.host.sh("stat -c '%a %U' /etc/siteward/credentials/kubeconfig")).toBe("600 root");
    await board.host.sh("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    await untilReady();

    const doctor = await siteward("doctor --only systemd,sandbox,journal,storage.space,lease,creds");
    expect(doctor.stdout).toMatch(
      /^\[(ok|info)\] +systemd\.notify +the agent notifies systemd through a socket that launch\.pl connects/m,
    );
    expect(doctor.stdout).toMatch(/^\[(ok|info)\] +systemd\.version +systemd \d+/m);
    expect(doctor.stdout).toMatch(
      /^\[ok\] +sandbox\.score +the sandbox of siteward\.service has an exposure of 1\.[012] \(OK\)$/m,
    );
    expect(doctor.stdout).toMatch(/^\[ok\] +journal\.integrity +\S+state\.db is in use by the agent/m);
    expect(doctor.stdout).toMatch(/^\[ok\] +lease\.conflict +pi-1 leads/m);
    expect(doctor.code).toBe(0);
  });

  test("a drop-in that opens the sandbox is visible in its score", async () => {
    await enrolled();
    await board.drop("90-open", "SystemCallFilter=\nProtectSystem=no\nCapabilityBoundingSet=~\nNoNewPrivileges=no");
    const { stdout } = await siteward("doctor --json --only sandbox");
    expect(JSON.parse(stdout).findings[0]).toMatchObject({
      level: "info",
      message: expect.stringMatching(/has an exposure of [2-9]\.\d \(\w+\); that of the shipped unit is 1\.1$/),
      hint: expect.stringContaining("systemctl cat"),
    });
  });

  test("the archive of diag collect contains the agent's log from journalctl and no secret", async () => {
    await enrolled();
    await board.host.sh("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    await untilReady();
    const { code, stdout } = await siteward("diag collect --offline -o /root/a.tar.gz");
    expect(code, stdout).toBe(0);
    await board.host.sh("mkdir -p /root/a && tar xzf /root/a.tar.gz -C /root/a");
    expect(await board.host.read("/root/a/siteward/log.txt")).toMatch(/siteward\[\d+\]: term began/);
    expect(await board.host.read("/root/a/siteward/unit.txt")).toContain("LoadCredential=kubeconfig:");
    expect(await board.host.read("/root/a/siteward/unit-state.txt")).toContain("ActiveState=active");
    expect(JSON.parse(await board.host.read("/root/a/siteward/status.json"))).toMatchObject({
      schema: "siteward.status/1",
    });
    expect(await board.host.sh("stat -c %a /root/a.tar.gz")).toBe("600");
    // The agent itself can do the same inside its sandbox.
    const own = await siteward(`cmd diagnostics.collect --reason "remote diagnosis"`);
    expect(own.code, own.stderr).toBe(0);
    const { path: file } = JSON.parse(own.stdout) as { path: string };
    expect(await board.host.sh(`tar tzf ${file}`)).toContain("siteward/config.txt");
  });

  test("journal commands work with and without a running agent", async () => {
    await enrolled();
    await board.host.sh("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    await untilReady();
    const beside = await siteward("journal stats");
    expect(beside.stdout).toMatch(/state\.db: locked by the agent/);
    expect(beside.stdout).toMatch(/cache\.db: .* free\), log .*, format \d+\n(?: {2}\w+ +\d+ rows\n)+/);
    expect((await siteward("journal tail")).stdout).toMatch(/^no changes are waiting$/m);
    expect((await siteward("journal compact")).code).toBe(0);

    await board.host.sh("systemctl stop siteward");
    expect((await siteward("journal stats")).stdout).toMatch(/state\.db: .*\n {2}\w+/);
    const { code, stdout } = await siteward("journal compact");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\/var\/lib\/siteward\/state\.db: .* before, .* now$/m);
    expect((await siteward("journal verify")).code).toBe(0);
    // Files that root touched there still belong to the agent.
    await board.host.sh("systemctl start siteward", { seconds: 100 });
    await untilReady();
  });

  test.skipIf(!hasOpenssl())(
    "after enrolment in a fleet the unit passes the broker's credentials to the agent",
    async () => {
      const authority = new Authority();
      const { cert, key } = authority.issue("acme/default/pi-1");
      for (const [file, text] of [
        ["crt", cert],
        ["key", key],
        ["ca", authority.ca],
      ] as const)
        await board.host.write(`/root/mqtt.${file}`, text, "600");
      authority.remove();
      const fleet =
        "--mqtt mqtts://127.0.0.1:8883 --fleet acme --certificate /root/mqtt.crt --key /root/mqtt.key --mqtt-ca /root/mqtt.ca";
      expect((await enrolled(fleet)).code).toBe(0);
      await board.host.sh("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
      // Without a broker the site is still managed.
      await untilReady();
      expect(JSON.parse((await siteward("status --json")).stdout)).toMatchObject({ identity: { fleet: "acme" } });
      const pid = await board.pid();
      expect(await board.host.sh(`nsenter -t ${pid} -m ls /run/credentials/siteward.service`)).toContain("mqtt.key");

      // Then the board leaves the fleet again.
      expect((await enrolled()).code).toBe(0);
      await board.host.sh("systemctl daemon-reload && systemctl restart siteward", { seconds: 100 });
      await untilReady();
      expect(await board.host.sh("ls /etc/siteward/credentials")).toBe("kubeconfig");
    },
  );
});
