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
  (isThere("dpkg-deb") ? undefined : "dpkg-deb is not here") ??
  (ownArchitecture ? undefined : "no package is made for this processor");
if (why !== undefined) console.log(`left out: installations that break off: ${why}`);

const unit = "siteward.service";
const program = "/usr/lib/siteward";
const state = "/var/lib/siteward/state.db";
/** The script of the package that runs next is killed before its command of this number. */
const stopAt = "/run/stop-at";
const scripts = ["postinst", "prerm", "postrm"];
/** CI kills at one step in so many; SITEWARD_TEST_STRIDE=1: at each. */
const stride = Number(process.env.SITEWARD_TEST_STRIDE ?? 5);
/** More than any of these scripts has. */
const mostSteps = 80;

/** A server that does not answer: no story here needs a network. */
const unreachable = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "site", cluster: { server: "http://127.0.0.1:9" } }],
  users: [{ name: "board", user: {} }],
  contexts: [{ name: "site", context: { cluster: "site", user: "board" } }],
  "current-context": "site",
});

/** The same scripts, for bash: it counts commands, also those of functions. */
function mortal(folder: string): void {
  for (const name of scripts) {
    const file = path.join(folder, "DEBIAN", name);
    const trap = `stop=$(cat ${stopAt} 2>/dev/null || true); n=0; set -T
trap 'n=$((n+1)); [ "$n" != "$stop" ] || kill -KILL $$' DEBUG`;
    const text = readFileSync(file, "utf8").slice("#!/bin/sh\n".length);
    writeFileSync(file, `#!/bin/bash\n${trap}\n${text}`);
  }
}

/** One board; each test goes on where the one before it ended. */
describe.skipIf(why !== undefined)("an installation that breaks off", () => {
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
  /** Children that it is about to start look like it, and have it for a parent. */
  const agents = async (): Promise<readonly string[]> =>
    (await host.run(["pgrep", "--parent", "1", "--full", `${program}/dist/main.js run`])).stdout
      .split("\n")
      .filter(Boolean);
  const content = async (): Promise<string> => host.sh(`stat -c %i ${state}`);

  /** One process of the service, which systemd knows, and the state it had. */
  const expectWhole = async (version: string, before: string): Promise<void> => {
    await host.until(unit, { ActiveState: "active", SubState: "running" }, 60);
    expect(await agents()).toEqual([(await host.unit(unit, "MainPID")).MainPID]);
    expect(await installed()).toBe(`${version} ii `);
    expect((await host.run(["systemctl", "is-enabled", unit])).stdout).toBe("enabled\n");
    expect(await host.sh("dpkg --verify siteward")).toBe("");
    expect(await content()).toBe(before);
    expect((await host.run("ls /var/lib/siteward")).stdout).not.toMatch(/damaged/);
  };

  /** Kills the scripts that this runs at one step after the other; answers about how many they have. */
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

  test("a first installation that is killed at any step is completed by the next one", async () => {
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

  test("an upgrade that is killed at any step leaves one agent at most, and is completed by dpkg --configure -a", async () => {
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
  ])("where %s fails during an upgrade, the next installation makes up for it", async (tool) => {
    const before = await content();
    await host.write(`/usr/local/sbin/${tool}`, "#!/bin/sh\necho broken >&2\nexit 1\n", "755");
    await host.run("/var/lib/dpkg/info/siteward.postinst configure 1.0");
    expect((await agents()).length).toBe(1);
    await host.sh(["rm", `/usr/local/sbin/${tool}`]);
    await host.sh("/var/lib/dpkg/info/siteward.postinst configure 1.0");
    await expectWhole("2.0", before);
  });

  test("without room for the new version the old one stays whole and runs, and the upgrade works once there is room", async () => {
    const before = await content();
    const used = Number(await host.sh(`du -sk ${program} | cut -f1`));
    // The new files lie beside the old ones until all are there.
    await host.sh(`cp -a ${program} /root/program && mount -t tmpfs -o size=${used + 30_000}k,mode=755 none ${program} &&
      cp -a /root/program/. ${program} && systemctl restart ${unit}`);
    const { code, stderr } = await host.run(["dpkg", "--install", "--force-confold", "--force-downgrade", first]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/No space left on device/);
    await expectWhole("2.0", before);
    await host.sh(`mount -o remount,size=400m ${program}`);
    await host.sh(["dpkg", "--install", "--force-confold", first]);
    await expectWhole("1.0", before);
    // What lies below the mount is older than what dpkg knows.
    await host.sh(`systemctl stop ${unit} && umount ${program} && systemctl start ${unit}`);
    await host.sh(["dpkg", "--install", "--force-confold", first]);
    await expectWhole("1.0", before);
  });

  test.each([0.3, 1.2])("dpkg that is killed %s s after it began is repaired by the same command", async (seconds) => {
    const before = await content();
    await host.run(`dpkg --install --force-confold '${second}' & sleep ${seconds}; kill -KILL $!; wait`);
    expect((await agents()).length).toBe(1);
    expect(await content()).toBe(before);
    await host.run("dpkg --configure -a");
    await host.sh(["dpkg", "--install", "--force-confold", second]);
    await expectWhole("2.0", before);
  });

  test("a removal that is killed at any step goes on with the next one, and keeps the state", async () => {
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

  test("a purge that is killed at any step leaves nothing in the end", async () => {
    const steps = await killedAtEachStep("dpkg --purge siteward", async () => undefined);
    expect(steps).toBeGreaterThan(4);
    const left = await host.sh("find /etc /usr /var /run -xdev -name '*siteward*' -not -path '/run/credentials/*'");
    expect(left).toBe("");
    expect(await agents()).toEqual([]);
  });
});
