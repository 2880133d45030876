import { execFile } from "node:child_process";
import path from "node:path";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program as it is shipped, and waits for its end. */
export function siteward(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Ended> {
  const main = path.resolve(import.meta.dirname, "../../dist/main.js");
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...argv], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
