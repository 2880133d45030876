import { execFile } from "node:child_process";
import path from "node:path";
import { describe, expect, test } from "vitest";

const run = (suite: string, option: string): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const file = path.resolve(import.meta.dirname, "..", suite, "run.ts");
    execFile(process.execPath, [file, option], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });

describe.each(["broker", "endurance", "fuzz", "load", "power"])("the command line of the suite %s", (suite) => {
  test("prints its usage with --help and runs nothing", async () => {
    const { code, stdout } = await run(suite, "--help");
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("  npm run ") });
  });

  test("refuses an unknown option with a sentence and the help", async () => {
    const { code, stderr } = await run(suite, "--nope");
    expect({ code, stderr }).toEqual({
      code: 64,
      stderr: expect.stringMatching(/^Unknown option '--nope'.*\n\n.*\n\n {2}npm run /),
    });
  });
});
