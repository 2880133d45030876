import { execFileSync } from "node:child_process";
import path from "node:path";

/**
 * A command that executes the command that follows it with time passing `pace` times as fast. Built with the C
 * compiler.
 */
export function fastTime(dir: string, pace: number): readonly string[] {
  const library = path.join(dir, "fast-time.so");
  const source = path.resolve(import.meta.dirname, "fast-time.c");
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source], { stdio: "pipe" });
  return ["env", `LD_PRELOAD=${library}`, `PACE=${pace}`];
}
