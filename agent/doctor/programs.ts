import { spawn } from "node:child_process";
import type { Clock, Millis } from "../base/clock.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the system to its end. Undefined: it is not installed, or did not end in time. */
export type RunProgram = (command: string, args: readonly string[]) => Promise<Ran | undefined>;

const patience: Millis = 10_000;
/** Of each stream; what comes after is not kept. */
const longestOutput = 4 * 2 ** 20;

/** With the environment that makes programs speak English, and nothing that belongs to this process. */
export const programRunner =
  (clock: Clock, path: string | undefined, limit: Millis = patience): RunProgram =>
  (command, args) =>
    new Promise((resolve) => {
      const env = { PATH: path ?? "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", SYSTEMD_COLORS: "0" };
      const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env });
      const texts = { stdout: "", stderr: "" };
      const timer = clock.after(limit, () => {
        child.kill("SIGKILL");
        resolve(undefined);
      });
      for (const name of ["stdout", "stderr"] as const) {
        child[name]?.setEncoding("utf8").on("data", (part: string) => {
          if (texts[name].length < longestOutput) texts[name] += part;
        });
      }
      child.once("error", () => {
        timer.cancel();
        resolve(undefined);
      });
      child.once("close", (code) => {
        timer.cancel();
        resolve({ code: code ?? -1, ...texts });
      });
    });
