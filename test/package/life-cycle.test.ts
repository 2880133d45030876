import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownArchitecture } from "../../packaging/architectures.ts";
import { isThere } from "../../packaging/tools.ts";
import { asVersion, quickPackage } from "../support/deb-package.ts";
import { blockWith } from "../support/operator-docs.ts";
import { SystemdHost } from "../support/systemd-host.ts";

const why =
  SystemdHost.whyNot() ??
  (isThere("dpkg-deb") ? undefined : "dpkg-deb is missing") ??
  (ownArchitecture ? undefined : "there is no package for this processor");
if (why !== undefined) console.log(`skipped: the life cycle of the package on a board: ${why}`);

const unit = "siteward.service";
const dropIns = "/etc/systemd/system/siteward.service.d";
const kubeconfig = "/etc/siteward/credentials/kubeconfig";

/** A kubeconfig with a server that does not answer: no story here needs a network. */
const unreachable = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "site", cluster: { server: "http://127.0.0.1:9" } }],
  users: [{ name: "board", user: {} }],
  contexts: [{ name: "site", context: { cluster: "site", user: "board" } }],
  "current-context": "site",
});

/** One board from its first installation to the last; each test continues from the end of the previous one. */
describe.skipIf(why !== undefined)("the package on a board", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-life-"));
  let first = "";
  let second = "";
  let host: SystemdHost;

  beforeAll(async () => {
    if (ownArchitecture === undefined) return;
    first = asVersion(await quickPackage(ownArchitecture, dir), "1.0");
    second = asVersion(first, "2.0", (folder) => {
      const file = path.join(folder, "etc/siteward/siteward.yaml");
      writeFileSync(file, `# New in this version.\n${readFileSync(file, "utf8")}`);
    });
    host = await SystemdHost.boot({ writable: [dir] });
  });

  afterAll(async () => {
    await host?.end();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Installs like an unattended upgrade: without questions, and edited files stay. */
  const install = async (file: string): Promise<string> => {
    const { code, stdout, stderr } = await host.run(["dpkg", "--install", "--force-confold", file]);
    expect(code, stdout + stderr).toBe(0);
    return stdout + stderr;
  };
  const state = async (): Promise<string> => (await host.unit(unit, "ActiveState")).ActiveState;
  const pid = async (): Promise<string> => (await host.unit(unit, "MainPID")).MainPID;
  const enabled = async (): Promise<string> => (await host.run(["systemctl", "is-enabled", unit])).stdout.trim();
  const installed = async (): Promise<string | undefined> =>
    (await host.sh(["dpkg-query", "--show", "siteward"])).split("	")[1];

  test("without credentials it is enabled but not started, and prints the next step", async () => {
    const said = await install(first);
    expect(said).toMatch(/not started, because this board has no credentials/);
    expect(said).toMatch(/siteward enroll/);
    expect(await enabled()).toBe("enabled");
    expect(await state()).toBe("inactive");
    expect(await host.sh("stat -c '%a %U:%G' /etc/siteward/credentials")).toBe("700 root:root");
    expect(await host.sh("getent passwd siteward | cut -d: -f6,7")).toMatch(/^\/var\/lib\/siteward:.*nologin$/);
  });

  test("its command, man page and completion are installed", async () => {
    expect(await host.sh(["siteward", "version"])).toMatch(/^siteward /);
    expect((await host.run(["siteward", "status"])).code).toBe(3);
    expect(await host.sh("zcat /usr/share/man/man8/siteward.8.gz")).toMatch(/^\.TH SITEWARD 8/);
    expect(await host.sh("bash -n /usr/share/bash-completion/completions/siteward && echo good")).toBe("good");
    expect((await host.run(["siteward", "config", "check", "/etc/siteward/siteward.yaml"])).code).toBe(0);
    expect(await host.sh("dpkg --verify siteward")).toBe("");
  });

  test("after enrolment it starts and becomes active, although no server answers", async () => {
    await host.write("/root/plant7.yaml", unreachable, "600");
    await host.sh("siteward enroll --kubeconfig /root/plant7.yaml --site plant7 --board edge-02 --no-doctor");
    await host.sh("systemctl daemon-reload && systemctl start siteward");
    await host.until(unit, { ActiveState: "active", SubState: "running" }, 60);
    const status = JSON.parse(await host.read("/run/siteward/status.json")) as {
      readonly pid: number;
      readonly identity: { readonly site: string; readonly board: string };
    };
    expect(String(status.pid)).toBe(await pid());
    expect(status.identity).toMatchObject({ site: "plant7", board: "edge-02" });
    expect(await host.sh(`ps -o user= -p ${await pid()}`)).toBe("siteward");
  });

  test("the limits of the board's profile are in force", async () => {
    expect(await host.read(`${dropIns}/10-profile.conf`)).toMatch(/^MemoryMax=/m);
    const { DropInPaths } = await host.unit(unit, "DropInPaths");
    expect(DropInPaths).toContain("10-profile.conf");
    const heap = /--max-old-space-size=\d+/.exec(await host.read(`${dropIns}/10-profile.conf`))?.[0] ?? "none";
    const command = await host.sh(`tr '\\0' ' ' < /proc/${await pid()}/cmdline`);
    expect(command.slice(command.lastIndexOf("--max-old-space-size"))).toMatch(new RegExp(`^${heap} `));
  });

  test("an upgrade restarts it and keeps edited files", async () => {
    await host.sh("printf 'log:\\n  level: debug\\n' >> /etc/siteward/siteward.yaml");
    const before = await pid();
    await install(second);
    expect(await installed()).toBe("2.0");
    await host.until(unit, { ActiveState: "active" }, 60);
    expect(await pid()).not.toBe(before);
    expect(await host.read("/etc/siteward/siteward.yaml")).toMatch(/level: debug/);
    expect(await host.read("/etc/siteward/siteward.yaml.dpkg-dist")).toMatch(/^# New in this version/);
    expect(await host.journal(unit)).not.toMatch(/ended by an error|MODULE_NOT_FOUND/);
  });

  test("the previous version can be installed again", async () => {
    const before = await pid();
    await install(first);
    expect(await installed()).toBe("1.0");
    await host.until(unit, { ActiveState: "active" }, 60);
    expect(await pid()).not.toBe(before);
    expect(await host.read("/etc/siteward/siteward.yaml")).toMatch(/level: debug/);
  });

  test("the commands of docs/operator.md upgrade from a kept file, and downgrade without a network", async () => {
    const upgrade = blockWith("sh", "siteward_0.2.0_arm64.deb").replaceAll(
      "siteward_0.2.0_arm64.deb",
      "siteward_2.0.deb",
    );
    const back = blockWith("sh", "--allow-downgrades").replaceAll("siteward_0.1.0_arm64.deb", "siteward_1.0.deb");
    const asRoot = (script: string) =>
      `set -eu; cd ${dir}; sudo() { "$@"; }; export DEBIAN_FRONTEND=noninteractive; ${script}`;
    const paste = (script: string) =>
      host.sh(
        asRoot(
          script
            .replaceAll("apt install", "apt install -y -o Dpkg::Options::=--force-confold")
            .replaceAll("sudo xargs", "xargs"),
        ),
        {
          seconds: 300,
        },
      );
    await host.sh(`install -D -m 644 -t /var/cache/siteward ${dir}/siteward_1.0.deb`);
    await host.sh("touch -d '-1 day' /var/cache/siteward/siteward_0.9.deb");
    await paste(upgrade);
    expect(await installed()).toBe("2.0");
    expect(await host.sh("ls /var/cache/siteward")).toBe("siteward_1.0.deb\nsiteward_2.0.deb");
    await paste(back);
    expect(await installed()).toBe("1.0");
    await host.until(unit, { ActiveState: "active" }, 60);
  });

  test("a policy-rc.d that forbids it, as while building images, leaves the service unchanged", async () => {
    const before = await pid();
    await host.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", "755");
    await install(second);
    expect(await pid()).toBe(before);
    await host.sh(["rm", "/usr/sbin/policy-rc.d"]);
  });

  test("a disabled service stays disabled and stopped through an upgrade", async () => {
    await host.sh(["systemctl", "disable", "--now", unit]);
    await install(first);
    await install(second);
    expect(await enabled()).toBe("disabled");
    expect(await state()).toBe("inactive");
    await host.sh(["systemctl", "enable", "--now", unit]);
    await install(first);
    expect(await enabled()).toBe("enabled");
    expect(await state()).toBe("active");
  });

  test("removing stops it and keeps configuration, credentials and state", async () => {
    await host.sh(["dpkg", "--remove", "siteward"]);
    expect(await state()).toBe("inactive");
    expect(await host.sh("ls /usr/lib/siteward /usr/bin/siteward 2>/dev/null || echo gone")).toBe("gone");
    expect(await host.read("/etc/siteward/siteward.yaml")).toMatch(/level: debug/);
    await host.sh(`test -s ${kubeconfig} && test -s /var/lib/siteward/state.db`);
  });

  test("installed again it continues from its previous state", async () => {
    await install(second);
    await host.until(unit, { ActiveState: "active" }, 60);
    expect(await enabled()).toBe("enabled");
  });

  test("purging leaves nothing but the account", async () => {
    await host.write("/etc/siteward/conf.d/50-site.yaml", "apiVersion: siteward.dev/v1\nkind: AgentConfiguration\n");
    await host.sh(["dpkg", "--purge", "siteward"]);
    expect(await state()).toBe("inactive");
    const left = await host.sh("find /etc /usr /var /run -xdev -name '*siteward*' -not -path '/run/credentials/*'");
    expect(left).toBe("");
    expect(await host.sh("getent passwd siteward | cut -d: -f1")).toBe("siteward");
    expect((await host.run("systemctl cat siteward")).code).not.toBe(0);
  });

  test("a board on which the package was once installed starts from scratch after a purge", async () => {
    expect(await install(second)).toMatch(/not started/);
    expect(await state()).toBe("inactive");
    expect(await enabled()).toBe("enabled");
  });

  test("in an image under construction it is installed and enabled, without traces of the building machine", async () => {
    await host.sh(["dpkg", "--purge", "siteward"]);
    const inImage = "mount -t tmpfs tmpfs /run && dpkg --install";
    await host.sh(["unshare", "--mount", "bash", "-c", `${inImage} '${second}'`]);
    expect(await enabled()).toBe("enabled");
    expect(await state()).toBe("inactive");
    expect(await host.sh(`ls ${dropIns} 2>/dev/null || echo none`)).toBe("none");
    expect(await host.sh("stat -c %a /etc/siteward/credentials")).toBe("700");
  });
});
