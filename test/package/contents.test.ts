import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { architectures } from "../../packaging/architectures.ts";
import { buildPackage } from "../../packaging/build-package.ts";
import { membersOf, problemsOf } from "../../packaging/gate.ts";
import { isThere } from "../../packaging/tools.ts";
import { copiesOfProject, quickPackage } from "../support/deb-package.ts";

const missing = ["dpkg-deb", "readelf"].filter((tool) => !isThere(tool));
const why = missing.length === 0 ? undefined : `${missing.join(", ")}: not here (test/support/install-tools)`;
if (why !== undefined) console.log(`skipped: the contents of the package: ${why}`);
const whyNoLintian = why ?? (isThere("lintian") ? undefined : "lintian is missing (test/support/install-tools)");
if (whyNoLintian !== undefined) console.log(`skipped: the checks of lintian: ${whyNoLintian}`);

const elfMachines = { amd64: 0x3e, arm64: 0xb7 } as const;

/** The newest symbol versions of GCC 11's libstdc++, and the older ones that a binary may need at most. */
const libstdcxx11 = ["3.4.26", "3.4.27", "3.4.28", "3.4.29"];

const readelf = (what: string, file: string): string =>
  execFileSync("readelf", ["--wide", what, file], {
    maxBuffer: 64 * 2 ** 20,
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();

describe.skipIf(why !== undefined)("the package", () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-contents-"));
  const files = { amd64: "", arm64: "" };

  beforeAll(async () => {
    for (const name of ["amd64", "arm64"] as const) files[name] = await quickPackage(architectures[name], dir);
  });

  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const extracted = (name: "amd64" | "arm64"): string => {
    const folder = path.join(dir, name);
    if (!existsSync(folder)) execFileSync("dpkg-deb", ["--extract", files[name], folder]);
    return folder;
  };

  describe.each(["amd64", "arm64"] as const)("for %s", (name) => {
    test("contains what a board needs, and nothing that must not be shipped", async () => {
      const members = await membersOf(files[name]);
      expect(problemsOf(members, 0, "xz")).toEqual([]);
      const paths = members.map(({ path: at }) => at);
      for (const at of [
        "usr/bin/siteward",
        "usr/lib/siteward/bin/node",
        "usr/lib/siteward/dist/main.js",
        "usr/lib/siteward/launch.pl",
        "usr/lib/siteward/profiles.d/generic.json",
        "usr/lib/systemd/system/siteward.service",
        "usr/lib/sysusers.d/siteward.conf",
        "usr/lib/tmpfiles.d/siteward.conf",
        "usr/share/man/man8/siteward.8.gz",
        "usr/share/bash-completion/completions/siteward",
        "usr/share/doc/siteward/copyright",
        "usr/share/doc/siteward/operator.md",
        "usr/share/doc/siteward/judgement.md",
        "usr/share/doc/siteward/security.md",
        "usr/share/doc/siteward/late-writes.md",
        "usr/share/doc/siteward/interfaces.md",
        "usr/share/doc/siteward/signed-commands.md",
        "usr/share/doc/siteward/third-party.md",
        "usr/share/doc/siteward/changelog.gz",
        "usr/share/doc/siteward/examples/siteward.yaml",
      ]) {
        expect(paths).toContain(at);
      }
    });

    test("has stripped machine code for its own processor only, and depends on the libraries that the code needs", async () => {
      const folder = extracted(name);
      const code = (await membersOf(files[name]))
        .map(({ path: at }) => path.join(folder, at))
        .filter((file) => /\/node$|\.node$|\.so(\.|$)/.test(file));
      expect(code.length).toBe(2);
      const needed = code.flatMap((file) => {
        const head = readFileSync(file).subarray(0, 64);
        expect(head.toString("latin1", 0, 4)).toBe("\x7fELF");
        expect(head.readUInt16LE(18)).toBe(elfMachines[name]);
        expect(readelf("--sections", file)).not.toMatch(/\.symtab|\.debug_/);
        return [...readelf("--version-info", file).matchAll(/Name: (GLIBC|GLIBCXX)_(\d+(?:\.\d+)*)/g)];
      });
      const newest = (library: string): string | undefined =>
        needed
          .filter(([, of]) => of === library)
          .map(([, , version = ""]) => version)
          .sort(new Intl.Collator("en", { numeric: true }).compare)
          .at(-1);
      const asked = execFileSync("dpkg-deb", ["--field", files[name], "Depends"]).toString();
      expect(asked).toContain(`libc6 (>= ${newest("GLIBC")})`);
      expect(asked).toContain("libstdc++6 (>= 11)");
      expect(libstdcxx11).toContain(newest("GLIBCXX"));
    });

    test("changes its configuration file only where the format requires it", () => {
      const text = readFileSync(path.join(extracted(name), "etc/siteward/siteward.yaml"), "utf8");
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      expect(lines).toEqual(["apiVersion: siteward.dev/v1", "kind: AgentConfiguration"]);
      const conffiles = execFileSync("dpkg-deb", ["--info", files[name], "conffiles"]).toString();
      expect(conffiles).toBe("/etc/siteward/siteward.yaml\n");
    });

    test.skipIf(whyNoLintian !== undefined)("passes lintian, except for the explained tags", () => {
      const options = ["--allow-root", "--fail-on=error,warning", "--tag-display-limit=0"];
      let said = "";
      try {
        said = execFileSync("lintian", [...options, files[name]], { stdio: ["ignore", "pipe", "pipe"] }).toString();
      } catch (error) {
        const { stdout = "", stderr = "" } = error as { readonly stdout?: unknown; readonly stderr?: unknown };
        said = `${stdout}${stderr}`;
      }
      expect(said.split("\n").filter((line) => /^[EW]:/.test(line))).toEqual([]);
    });
  });

  test("every lintian override has its reason above it", () => {
    const overrides = readFileSync(path.join(extracted("arm64"), "usr/share/lintian/overrides/siteward"), "utf8");
    const lines = overrides.trimEnd().split("\n");
    const alone = lines.filter((line, i) => !line.startsWith("#") && !lines[i - 1]?.startsWith("#"));
    expect(alone).toEqual([]);
  });

  test("is identical, byte for byte, when it is built in another folder with another umask", async () => {
    const released = new Date("2026-01-02T03:04:05Z");
    const build = (root: string, out: string): Promise<string> =>
      buildPackage({
        root,
        architecture: architectures.arm64,
        out,
        released,
        compression: "gzip",
        say: () => undefined,
      });
    const before = process.umask(0o077);
    try {
      const [one, other] = copiesOfProject(path.join(dir, "one"), path.join(dir, "a/folder/elsewhere"));
      const first = await build(one, path.join(dir, "first"));
      process.umask(0o022);
      const second = await build(other, path.join(dir, "second"));
      expect(sumOf(first)).toBe(sumOf(second));
    } finally {
      process.umask(before);
    }
  });
});

const sumOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");
