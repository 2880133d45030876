import { execFile } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function packageCommand(...args: readonly string[]): Promise<Ended> {
  const script = path.resolve(import.meta.dirname, "../../packaging/package.ts");
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test("--help prints the usage and builds nothing", async () => {
  const { code, stdout } = await packageCommand("--help");
  expect(code).toBe(0);
  expect(stdout).toMatch(/npm run package -- \[--arch arm64\|amd64\] \[--out FOLDER\]/);
});

test.each<[readonly string[], RegExp]>([
  [["--arch", "armhf"], /^package: --arch must be amd64 or arm64, not "armhf"\n$/],
  [["--arch", "toString"], /^package: --arch must be/],
  [["--fast"], /^package: Unknown option '--fast'/],
])("unknown arguments are refused with one sentence: %s", async (args, said) => {
  const { code, stderr } = await packageCommand(...args);
  expect(code).toBe(1);
  expect(stderr).toMatch(said);
  expect(stderr).not.toMatch(/\n {4}at /);
});
