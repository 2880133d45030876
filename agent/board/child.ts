import { spawn } from "node:child_process";
import type { Clock, Millis } from "../base/clock.ts";
import { killGroup } from "../base/process-group.ts";

export interface ChildOptions {
  /** A child that takes longer is ended, with all that it started. */
  readonly patience: Millis;
  /** More output than this is none. */
  readonly longest: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What became of it. failed: it cannot be started, ended badly, took too long or said too much. */
export type Outcome = { readonly output: string } | { readonly failed: string };

/** Runs a program to its end, in a process group of its own. Never rejects. */
export function runChild(command: string, args: readonly string[], options: ChildOptions): Promise<Outcome> {
  const { patience, longest, clock, signal } = options;
  return new Promise((settle) => {
    let output = "";
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"], detached: true });
    const done = (outcome: Outcome): void => {
      timer.cancel();
      signal.removeEventListener("abort", stopped);
      settle(outcome);
    };
    const end = (why: string): void => {
      killGroup(child.pid);
      child.stdout?.destroy();
      done({ failed: why });
    };
    const stopped = (): void => end("stopped");
    const timer = clock.after(patience, () => end(`it did not end within ${patience / 1000} s`));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > longest) end("it says too much");
    });
    child.on("error", (error) => done({ failed: error.message }));
    child.on("close", (code, killedBy) =>
      done(code === 0 ? { output } : { failed: `it ended with ${killedBy ?? `status ${code}`}` }),
    );
    if (signal.aborted) stopped();
    else signal.addEventListener("abort", stopped, { once: true });
  });
}
