import { execFile } from "node:child_process";
import path from "node:path";

/** How a story went: what `siteward up` said, line by line, and how it ended. */
export interface Told {
  readonly exitCode: number;
  readonly lines: readonly string[];
}

/** Longer than any story: a hanging one fails with what it said until then. */
export const storyTimeout = 120_000;

/**
 * Plays a scenario as a person would: the program itself, real agents in processes of their own, one link for each board,
 * and real time. Another port than the usual one, so that a site that is just being looked at does not disturb.
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

/** The lines of a story that say that something failed: none, where all went well. */
export const failuresIn = ({ exitCode, lines }: Told): readonly string[] => {
  const failed = lines.filter((line) => line.includes("FAILED"));
  return exitCode === 0 ? failed : [`exit code ${exitCode}`, ...lines];
};

/** Whether lines that match come in this order, others between them. */
export function inOrder(lines: readonly string[], ...patterns: readonly RegExp[]): boolean {
  let from = 0;
  return patterns.every((pattern) => {
    const at = lines.findIndex((line, index) => index >= from && pattern.test(line));
    from = at + 1;
    return at >= 0;
  });
}
