import type { Clock, Millis } from "../base/clock.ts";
import { runProgram } from "../board/child.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the system to its end. Undefined: it is not installed, or did not end in time. */
export type RunProgram = (command: string, args: readonly string[]) => Promise<Ran | undefined>;

const patience: Millis = 10_000;
/** Of each stream: of a log that is longer, its first part is what there is. */
const longest = 4 * 2 ** 20;

/** With the environment that makes programs speak English, and nothing that belongs to this process. */
export const programRunner =
  (
    clock: Clock,
    {
      path,
      signal,
      limit = patience,
    }: { readonly path: string | undefined; readonly signal: AbortSignal; readonly limit?: Millis },
  ): RunProgram =>
  async (command, args) => {
    const env = { PATH: path ?? "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8", SYSTEMD_COLORS: "0" };
    const ended = await runProgram(command, args, { patience: limit, longest, clock, signal, env });
    return "failed" in ended ? undefined : { code: ended.code, stdout: ended.stdout, stderr: ended.stderr };
  };
