import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownArchitecture } from "../../packaging/architectures.ts";
import { isThere } from "../../packaging/tools.ts";
import { asVersion, quickPackage } from "../support/deb-package.ts";
import { SystemdHost } from "../support/systemd-host.ts";

const why =
  SystemdHost.whyNot() ??
  (isThere("dpkg-deb") ? undefined : "dpkg-deb is missing") ??
  (ownArchitecture ? undefined : "there is no package for this processor");
if (why !== undefined) console.log(`skipped: interrupted installations: ${why}`);

const unit = "siteward.service";
const program = "/usr/lib/siteward";
const state = "/var/lib/siteward/state.db";
/** The file with the number of the command before which the package's next script is killed. */
const stopAt = "/run/stop-at";
const scripts = ["postinst", "prerm", "postrm"];
/** Kill at every nth step: the 5th in CI; SITEWARD_TEST_STRIDE=1 kills at each. */
const stride = Number(process.env.SITEWARD_TEST_STRIDE ?? 5);
/** More steps than any of these scripts has. */
const mostSteps = 80;

/** A kubeconfig with a server that does not answer: no story here needs a network. */
const unreachable = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "site", cluster: { server: "http://127.0.0.1:9" } }],
  users: [{ name: "board", user: {} }],
  contexts: [{ name: "site", context: { cluster: "site", user: "board" } }],
  "current-context": "site",
});

/** Rewrites the package's scripts for bash, which counts their commands, including those of functions, and kills them. */
function mortal(folder: string): void {
  for (const name of scripts) {
    const file = path.join(folder, "DEBIAN", name);
    const trap = `stop=$(cat ${stopAt} 2>/dev/null || true); n=0; set -T
trap 'n=$((n+1)); [ "$n" != "$stop" ] || kill -KILL $$' DEBUG`;
    const text = readFileSync(file, "utf8").slice("#!/bin/sh\n".length);
    writeFileSync(file, `#!/bin/bash\n${trap}\n${text}`);
  }
}

/** One board; each test continues from the end of the previous one. */
describe.skipIf(why !== undefined)("an interrupted installation", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-broken-off-"));
  let first = "";
  let second = "";
  let host: SystemdHost;

  beforeAll(async () => {
    if (ownArchitecture === undefined) return;
    const made = await quickPackage(ownArchitecture, dir);
    first = asVersion(made, "1.0", mortal);
    second = asVersion(made, "2.0", mortal);
    host = await SystemdHost.boot({ writable: [dir] });
  });

  afterAll(async () => {
    await host?.end();
    rmSync(dir, { recursive: true, force: true });
  });

  const installed = async (): Promise<string> =>
    host.sh(["dpkg-query", "--show", `--showformat=\${Version} \${db:Status-Abbrev}`, "siteward"]);
  /** The agent's process. Children that it is about to start look the same, but have it as their parent. */
  const agents = async (): Promise<readonly string[]> =>
    (await host.run(["pgrep", "--parent", "1", "--full", `${program}/dist/main.js run`])).stdout
      .split("\n")
      .filter(Boolean);
  const content = async (): Promise<string> => host.sh(`stat -c %i ${state}`);

  /** Checks that the service has one process, the one that systemd knows, and its former state. */
  const expectWhole = async (version: string, before: string): Promise<void> => {
    await host.until(unit, { ActiveState: "active", SubState: "running" }, 60);
    expect(await agents()).toEqual([(await host.unit(unit, "MainPID")).MainPID]);
    expect(await installed()).toBe(`${version} ii `);
    expect((await host.run(["systemctl", "is-enabled", unit])).stdout).toBe("enabled\n");
    expect(await host.sh("dpkg --verify siteward")).toBe("");
    expect(await content()).toBe(before);
    expect((await host.run("ls /var/lib/siteward")).stdout).not.toMatch(/damaged/);
  };

  /** Repeats a command, each time killing its scripts at a later step. Returns about how many steps they have. */
  async function killedAtEachStep(command: string, meanwhile: () => Promise<void>): Promise<number> {
    for (let step = 1; step <= mostSteps; step += stride) {
      await host.write(stopAt, String(step));
      const { code } = await host.run(command);
      if (code === 0) {
        await host.sh(["rm", stopAt]);
        return step - 1;
      }
      await meanwhile();
    }
    throw new Error(`more than ${mostSteps} steps: ${command}`);
  }

  test("a first installation that was killed at any step is completed by the next one", async () => {
    await host.sh(`dpkg --unpack '${first}'`);
    const steps = await killedAtEachStep("dpkg --configure siteward", async () => {
      expect(await agents()).toEqual([]);
    });
    expect(steps).toBeGreaterThan(10);
    expect(await installed()).toBe("1.0 ii ");
    await host.write("/root/plant7.yaml", unreachable, "600");
    await host.sh("siteward enroll --kubeconfig /root/plant7.yaml --site plant7 --board edge-02 --no-doctor");
    await host.sh("systemctl daemon-reload && systemctl start siteward");
    await host.until(unit, { ActiveState: "active", SubState: "running" }, 60);
    await expectWhole("1.0", await content());
  });

  test("an upgrade that was killed at any step leaves at most one agent, and dpkg --configure -a completes it", async () => {
    const before = await content();
    await host.sh(`dpkg --unpack '${second}'`);
    const steps = await killedAtEachStep("dpkg --configure siteward", async () => {
      expect((await agents()).length).toBe(1);
      expect(await content()).toBe(before);
    });
    expect(steps).toBeGreaterThan(10);
    await host.sh("dpkg --configure -a");
    await expectWhole("2.0", before);
  });

  test.each([
    "systemd-sysusers",
    "systemd-tmpfiles",
    "deb-systemd-helper",
    "deb-systemd-invoke",
    "systemctl",
    "siteward",
  ])("after a failure of %s during an upgrade the next installation succeeds", async (tool) => {
    const before = await content();
    await host.write(`/usr/local/sbin/${tool}`, "#!/bin/sh\necho broken >&2\nexit 1\n", "755");
    await host.run("/var/lib/dpkg/info/siteward.postinst configure 1.0");
    expect((await agents()).length).toBe(1);
    await host.sh(["rm", `/usr/local/sbin/${tool}`]);
    await host.sh("/var/lib/dpkg/info/siteward.postinst configure 1.0");
    await expectWhole("2.0", before);
  });

  test("without room for the new version the old one stays intact and running, and the upgrade works once there is room", async () => {
    const before = await content();
    const used = Number(await host.sh(`du -sk ${program} | cut -f1`));
    // The new files are kept beside the old ones until all are unpacked.
    await host.sh(`cp -a ${program} /root/program && mount -t tmpfs -o size=${used + 30_000}k,mode=755 none ${program} &&
      cp -a /root/program/. ${program} && systemctl restart ${unit}`);
    const { code, stderr } = await host.run(["dpkg", "--install", "--force-confold", "--force-downgrade", first]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/No space left on device/);
    await expectWhole("2.0", before);
    await host.sh(`mount -o remount,size=400m ${program}`);
    await host.sh(["dpkg", "--install", "--force-confold", first]);
    await expectWhole("1.0", before);
    // The files below the mount are older than dpkg's records.
    await host.sh(`systemctl stop ${unit} && umount ${program} && systemctl start ${unit}`);
    await host.sh(["dpkg", "--install", "--force-confold", first]);
    await expectWhole("1.0", before);
  });

  test.each([0.3, 1.2])(
    "a dpkg that was killed %s s after its start is repaired by the same command",
    async (seconds) => {
      const before = await content();
      await host.run(`dpkg --install --force-confold '${second}' & sleep ${seconds}; kill -KILL $!; wait`);
      expect((await agents()).length).toBe(1);
      expect(await content()).toBe(before);
      await host.run("dpkg --configure -a");
      await host.sh(["dpkg", "--install", "--force-confold", second]);
      await expectWhole("2.0", before);
    },
  );

  test("a removal that was killed at any step is completed by the next one, and keeps the state", async () => {
    const before = await content();
    const steps = await killedAtEachStep("dpkg --remove siteward", async () => {
      expect((await agents()).length).toBeLessThanOrEqual(1);
      expect(await content()).toBe(before);
    });
    expect(steps).toBeGreaterThan(2);
    expect(await agents()).toEqual([]);
    expect(await content()).toBe(before);
    await host.sh(["dpkg", "--install", "--force-confold", second]);
    await expectWhole("2.0", before);
  });

  test("a purge that was killed at any step is completed by the next one and leaves nothing", async () => {
    const steps = await killedAtEachStep("dpkg --purge siteward", async () => undefined);
    expect(steps).toBeGreaterThan(4);
    const left = await host.sh("find /etc /usr /var /run -xdev -name '*siteward*' -not -path '/run/credentials/*'");
    expect(left).toBe("");
    expect(await agents()).toEqual([]);
  });
});
