import { execFile } from "node:child_process";
import path from "node:path";

/** The result of a story: the output lines of `siteward up`, and its exit code. */
export interface Told {
  readonly exitCode: number;
  readonly lines: readonly string[];
}

/** Longer than any story; a story that hangs fails with its output so far. */
export const storyTimeout = 120_000;

/**
 * Plays a scenario as a user would: with the program itself, real agent processes, one link for each board, and in real
 * time. The port is not the default, so that a running site does not interfere.
 */
export function play(...options: readonly string[]): Promise<Told> {
  const main = path.resolve(import.meta.dirname, "../../dist/main.js");
  const args = [main, "up", "--plain", "--port", "0", ...options];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: storyTimeout - 10_000 }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ exitCode, lines: `${stdout}${stderr}`.split("\n") });
    });
  });
}

/** The lines of a story that report failures; empty if all went well. */
export const failuresIn = ({ exitCode, lines }: Told): readonly string[] => {
  const failed = lines.filter((line) => line.includes("FAILED"));
  return exitCode === 0 ? failed : [`exit code ${exitCode}`, ...lines];
};

/** Whether matching lines occur in this order, possibly with others between them. */
export function inOrder(lines: readonly string[], ...patterns: readonly RegExp[]): boolean {
  let from = 0;
  return patterns.every((pattern) => {
    const at = lines.findIndex((line, index) => index >= from && pattern.test(line));
    from = at + 1;
    return at >= 0;
  });
}
