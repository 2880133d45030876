import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Authority, hasOpenssl } from "../agent/client/certificates.ts";
import type { Ran } from "../support/systemd-host.ts";
import { Board, kubeconfigFor, whyNoHost } from "./board.ts";

/** What an operator does with a board, in the order of docs/operator.md. */
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

  /** The host keeps its state in memory, so that not all is well; but it is ready. */
  async function untilReady(): Promise<void> {
    const { stderr, code } = await siteward("status --wait ready --timeout 60");
    expect(stderr).toBe("");
    expect(code).toBeLessThanOrEqual(1);
  }

  async function enrolled(more = ""): Promise<Ran> {
    await board.host.write("/root/site.yaml", kubeconfigFor("http://127.0.0.1:6440"), "600");
    return siteward(`enroll --kubeconfig /root/site.yaml --no-doctor ${more}`);
  }

  test("a board without credentials is told so by the doctor, and what to do", async () => {
    const { code, stdout } = await siteward("doctor --only creds,api");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^\[FAIL\] creds\.files +this board was given no credentials for the API\n +-> Enrol it \(sudo siteward enroll\)/m,
    );
  });

  test("the status of a board that does not run says what it is that it lacks, and the one step that helps", async () => {
    const asked = async (): Promise<string> => (await siteward("status")).stdout;
    expect(await asked()).toMatch(
      /^NOT RUNNING {2}this board was never enrolled .*\n {2}-> sudo siteward enroll, then/,
    );
    await enrolled();
    expect(await asked()).toMatch(
      /^NOT RUNNING {2}its service is stopped, and not enabled .*\n {2}-> sudo systemctl enable/,
    );
    await board.host.write("/etc/siteward/siteward.yaml", "leder: {}\n");
    await board.host.run("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    expect(await asked()).toMatch(/^NOT RUNNING {2}its configuration cannot be used .*\n {2}-> siteward config check/);
  });

  test("a kubeconfig that the settings name goes before what is enrolled: so nothing is, until it is taken out", async () => {
    await board.configure({ api: { kubeconfig: "/etc/siteward/kubeconfig" } });
    const { code, stderr } = await enrolled();
    expect(code).toBe(78);
    expect(stderr).toMatch(
      /^siteward: api\.kubeconfig names \/etc\/siteward\/kubeconfig, and the service would go on using/,
    );
    expect(await board.host.sh("ls /etc/siteward/credentials")).toBe("");
  });

  test("who is not root is told so in one sentence, with 77, by every command that needs it", async () => {
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

  test("enrolled and started it leads within seconds, and the doctor finds its unit as it was shipped", async () => {
    const { code, stdout } = await enrolled();
    expect(stdout).toContain("next: sudo systemctl daemon-reload");
    expect(code).toBe(0);
    expect(await board.host.sh("stat -c '%a %U' /etc/siteward/credentials/kubeconfig")).toBe("600 root");
    await board.host.sh("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    await untilReady();

    const doctor = await siteward("doctor --only systemd,sandbox,journal,storage.space,lease,creds");
    expect(doctor.stdout).toMatch(/^\[ok\] +systemd\.notify +notifies through a socket that launch\.pl connects/m);
    expect(doctor.stdout).toMatch(/^\[ok\] +systemd\.version +systemd \d+/m);
    expect(doctor.stdout).toMatch(
      /^\[ok\] +sandbox\.score +the sandbox of siteward\.service has an exposure of 1\.[012] \(OK\)$/m,
    );
    expect(doctor.stdout).toMatch(/^\[ok\] +journal\.integrity +\S+state\.db is in use by its agent/m);
    expect(doctor.stdout).toMatch(/^\[ok\] +lease\.conflict +pi-1 leads/m);
    expect(doctor.code).toBe(0);
  });

  test("a drop-in that opens the sandbox is seen in its score", async () => {
    await enrolled();
    await board.drop("90-open", "SystemCallFilter=\nProtectSystem=no\nCapabilityBoundingSet=~\nNoNewPrivileges=no");
    const { stdout } = await siteward("doctor --json --only sandbox");
    expect(JSON.parse(stdout).findings[0]).toMatchObject({
      level: "info",
      message: expect.stringMatching(/has an exposure of [2-9]\.\d \(\w+\); as shipped it is 1\.1$/),
      hint: expect.stringContaining("systemctl cat"),
    });
  });

  test("the archive of diag collect has the agent's log by journalctl, and no secret", async () => {
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
    // The agent itself does the same, inside of its sandbox.
    const own = await siteward(`cmd diagnostics.collect --reason "a look from afar"`);
    expect(own.code, own.stderr).toBe(0);
    const { path: file } = JSON.parse(own.stdout) as { path: string };
    expect(await board.host.sh(`tar tzf ${file}`)).toContain("siteward/config.txt");
  });

  test("journal commands work beside the running agent and without it", async () => {
    await enrolled();
    await board.host.sh("systemctl daemon-reload && systemctl start siteward", { seconds: 100 });
    await untilReady();
    const beside = await siteward("journal stats");
    expect(beside.stdout).toMatch(/state\.db: its agent has it alone/);
    expect(beside.stdout).toMatch(/cache\.db: .* free, format \d+\n(?: {2}\w+ +\d+ rows\n)+/);
    expect((await siteward("journal tail")).stdout).toMatch(/^nothing waits$/m);
    expect((await siteward("journal compact")).code).toBe(0);

    await board.host.sh("systemctl stop siteward");
    expect((await siteward("journal stats")).stdout).toMatch(/state\.db: .*\n {2}\w+/);
    const { code, stdout } = await siteward("journal compact");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\/var\/lib\/siteward\/state\.db: .* before, .* now$/m);
    expect((await siteward("journal verify")).code).toBe(0);
    // What root did there is still the agent's own.
    await board.host.sh("systemctl start siteward", { seconds: 100 });
    await untilReady();
  });

  test.skipIf(!hasOpenssl())(
    "enrolled in a fleet the unit is given the credentials, and starts with them",
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
      // No broker is there: the site is looked after all the same.
      await untilReady();
      expect(JSON.parse((await siteward("status --json")).stdout)).toMatchObject({ identity: { fleet: "acme" } });
      const pid = await board.pid();
      expect(await board.host.sh(`nsenter -t ${pid} -m ls /run/credentials/siteward.service`)).toContain("mqtt.key");

      // And out of it again.
      expect((await enrolled()).code).toBe(0);
      await board.host.sh("systemctl daemon-reload && systemctl restart siteward", { seconds: 100 });
      await untilReady();
      expect(await board.host.sh("ls /etc/siteward/credentials")).toBe("kubeconfig");
    },
  );
});
