import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readProfiles } from "../../agent/board/profile/profile.ts";
import { profileFlags } from "../../agent/board/profile/profile-unit.ts";
import { nodeFlags } from "../../agent/board/profile/runtime-flags.ts";
import { architectures, ownArchitecture } from "../../packaging/architectures.ts";
import { isThere } from "../../packaging/tools.ts";
import { until } from "../support/agent-process.ts";
import { quickPackage } from "../support/deb-package.ts";
import { LinkedSite } from "../support/links/linked-site.ts";

const { arm64 } = architectures;
const isNative = ownArchitecture === arm64;
const emulator = "qemu-aarch64-static";
const libraries = `/usr/${arm64.triplet}`;

/** The emulator that starts the program on a machine with another processor. */
const through = isNative ? [] : [emulator, "-L", libraries];

const why =
  (isThere("dpkg-deb") ? undefined : "dpkg-deb is missing") ??
  (isNative || isThere(emulator) ? undefined : `${emulator} is not here (test/support/install-tools)`) ??
  (isNative || existsSync(`${libraries}/lib/libstdc++.so.6`)
    ? undefined
    : `${libraries} has no libraries (test/support/install-tools)`);
if (why !== undefined) console.log(`skipped: running the arm64 package: ${why}`);

describe.skipIf(why !== undefined)("the installed arm64 package", () => {
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

  test("prints its version and its processor", async () => {
    const { code, stdout } = await siteward("version", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ platform: "linux-arm64" });
  });

  test("runs the doctor's checks of the board without a network", async () => {
    const { code, stdout } = await siteward("doctor", "--offline", "--json");
    // This machine is not a board, so some checks may fail; each of them must run, however.
    expect([0, 1]).toContain(code);
    expect(stdout).toMatch(/"config\.parse"/);
    expect(stdout).not.toMatch(/TypeError|ReferenceError|ERR_/);
  });

  test.each(["raspberry-pi-zero-2-w", "raspberry-pi-5"])(
    "leads a site with the start options of a %s: caches it, detects a dead board, and stops cleanly",
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

/** Node's options from the unit on such a board. */
function flagsOf(id: string): readonly string[] {
  const profile = readProfiles(path.resolve(import.meta.dirname, "../../firmware-profiles"), "/nowhere").profiles.find(
    (one) => one.id === id,
  );
  if (profile === undefined) throw new Error(`there is no profile ${id}`);
  return [...nodeFlags, ...profileFlags(profile)];
}
