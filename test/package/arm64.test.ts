import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readProfiles } from "../../agent/board/profile.ts";
import { profileFlags } from "../../agent/board/profile-unit.ts";
import { nodeFlags } from "../../agent/board/runtime-flags.ts";
import { architectures, ownArchitecture } from "../../packaging/architectures.ts";
import { isThere } from "../../packaging/tools.ts";
import { until } from "../support/agent-process.ts";
import { quickPackage } from "../support/deb-package.ts";
import { LinkedSite } from "../support/linked-site.ts";

const { arm64 } = architectures;
const isNative = ownArchitecture === arm64;
const emulator = "qemu-aarch64-static";
const libraries = `/usr/${arm64.triplet}`;

/** What the program is started through on a machine with another processor. */
const through = isNative ? [] : [emulator, "-L", libraries];

const why =
  (isThere("dpkg-deb") ? undefined : "dpkg-deb is not here") ??
  (isNative || isThere(emulator) ? undefined : `${emulator} is not here (test/support/install-tools)`) ??
  (isNative || existsSync(`${libraries}/lib/libstdc++.so.6`)
    ? undefined
    : `${libraries} has no libraries (test/support/install-tools)`);
if (why !== undefined) console.log(`left out: the arm64 package, run: ${why}`);

describe.skipIf(why !== undefined)("the arm64 package, run", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-arm64-"));
  const node = path.join(dir, "root/usr/lib/siteward/bin/node");
  const main = path.join(dir, "root/usr/lib/siteward/dist/main.js");

  beforeAll(async () => {
    execFileSync("dpkg-deb", ["--extract", await quickPackage(arm64, dir), path.join(dir, "root")]);
  });

  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const siteward = (...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string }> =>
    new Promise((resolve) => {
      const [program = "", ...rest] = [...through, node, main, ...args];
      const options = { env: { PATH: process.env.PATH }, timeout: 120_000 };
      execFile(program, rest, options, (error, stdout) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout });
      });
    });

  test("tells its version and its processor", async () => {
    const { code, stdout } = await siteward("version", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ platform: "linux-arm64" });
  });

  test("looks the board over without the network", async () => {
    const { code, stdout } = await siteward("doctor", "--offline", "--json");
    // This machine is no board, so some checks may fail; what matters is that each of them can be made there.
    expect([0, 1]).toContain(code);
    expect(stdout).toMatch(/"config\.parse"/);
    expect(stdout).not.toMatch(/TypeError|ReferenceError|ERR_/);
  });

  test.each(["raspberry-pi-zero-2-w", "raspberry-pi-5"])(
    "leads a site as a %s starts it: mirrors it, finds the board that died, and stops in good order",
    async (id) => {
      const config = {
        leader: { duration: "15s", renewDeadline: "10s", retry: "2s" },
        nodeLifecycle: { monitorPeriod: "1s", gracePeriod: "15s", evictionRate: 10 },
        judgement: { policy: "kubernetes" },
      };
      const site = await new LinkedSite({ config, through, program: [node, main], flags: flagsOf(id) }).start();
      try {
        await until(
          "the agent leads",
          () => site.agent.isReady,
          90,
          () => site.agent.log().slice(-2000),
        );
        expect(site.agent.status()?.watches?.find(({ resource }) => resource === "nodes")?.objects).toBe(3);
        site.silence(2);
        const isTainted = async (): Promise<boolean> => (await site.taints(2)).includes("unreachable:NoExecute");
        await until("the silent board is tainted", isTainted, 90, () => site.agent.log().slice(-2000));
        expect(await site.taints(0)).toEqual([]);
        expect(await site.agent.stop()).toBe(0);
      } finally {
        await site.stop();
      }
    },
  );
});

/** As the unit of such a board starts Node. */
function flagsOf(id: string): readonly string[] {
  const profile = readProfiles(path.resolve(import.meta.dirname, "../../firmware-profiles"), "/nowhere").profiles.find(
    (one) => one.id === id,
  );
  if (profile === undefined) throw new Error(`there is no profile ${id}`);
  return [...nodeFlags, ...profileFlags(profile)];
}
