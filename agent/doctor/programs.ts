import type { Clock, Millis } from "../base/clock.ts";
import { runProgram } from "../board/child.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a system program to its end. Undefined if it is not installed or timed out. */
export type RunProgram = (command: string, args: readonly string[]) => Promise<Ran | undefined>;

const timeLimit: Millis = 10_000;
/** Maximum number of bytes kept of each output stream; the rest is dropped. */
const maxOutput = 4 * 2 ** 20;

/** Runs programs with a minimal environment, in which their output is English. */
export const programRunner =
  (
    clock: Clock,
    {
      path,
      signal,
      limit = timeLimit,
    }: { readonly path: string | undefined; readonly signal: AbortSignal; readonly limit?: Millis },
  ): RunProgram =>
  async (command, args) => {
    const env = { PATH: path ?? "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", SYSTEMD_COLORS: "0" };
    const ended = await runProgram(command, args, { patience: limit, longest: maxOutput, clock, signal, env });
    return "failed" in ended ? undefined : { code: ended.code, stdout: ended.stdout, stderr: ended.stderr };
  };
