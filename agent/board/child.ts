import { spawn } from "node:child_process";
import type { Clock, Millis } from "../base/clock.ts";
import { killGroup } from "../base/process-group.ts";

export interface ChildOptions {
  /** A child that takes longer is killed, with all processes that it started. */
  readonly patience: Millis;
  /** Maximum length of each output stream, in characters. A child that writes more is killed. */
  readonly longest: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The child's environment. Default: that of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProgramResult {
  /** The exit code; 0 if `isCut`. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether the program was killed because it wrote more than `longest`. Its output so far is kept. */
  readonly isCut: boolean;
}

/** The program could not be started, was killed, or took too long. */
export interface ProgramFailure {
  /** The reason, as a clause: "it did not end within 10 s". */
  readonly failed: string;
}

/** Runs a program to its end in a separate process group. Never rejects. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: ChildOptions,
): Promise<ProgramResult | ProgramFailure> {
  const { patience, longest, clock, signal, env } = options;
  return new Promise((settle) => {
    const texts = { stdout: "", stderr: "" };
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, ...(env && { env }) });
    const done = (outcome: ProgramResult | ProgramFailure): void => {
      timer.cancel();
      signal.removeEventListener("abort", stopped);
      settle(outcome);
    };
    const end = (outcome: ProgramResult | ProgramFailure): void => {
      killGroup(child.pid);
      child.stdout?.destroy();
      child.stderr?.destroy();
      done(outcome);
    };
    const stopped = (): void => end({ failed: "stopped" });
    const timer = clock.after(patience, () => end({ failed: `it did not end within ${patience / 1000} s` }));
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (part: string) => {
        texts[name] += part;
        if (texts[name].length > longest) end({ code: 0, ...texts, isCut: true });
      });
    }
    child.on("error", (error) => done({ failed: error.message }));
    child.on("close", (code, killedBy) =>
      done(code === null ? { failed: `it ended with ${killedBy}` } : { code, ...texts, isCut: false }),
    );
    if (signal.aborted) stopped();
    else signal.addEventListener("abort", stopped, { once: true });
  });
}

/** The standard output of a program that succeeded. */
export type ProgramOutput = { readonly output: string } | ProgramFailure;

/** Like `runProgram`, but an exit code other than 0 and output that is too long are failures as well. */
export async function runChild(
  command: string,
  args: readonly string[],
  options: ChildOptions,
): Promise<ProgramOutput> {
  const ended = await runProgram(command, args, options);
  if ("failed" in ended) return ended;
  if (ended.isCut) return { failed: "its output is too long" };
  return ended.code === 0 ? { output: ended.stdout } : { failed: `it ended with status ${ended.code}` };
}
