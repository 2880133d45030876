import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);
const mostOutput = 64 * 2 ** 20;

/** Runs a program to its end and returns its standard output. Throws with its error output if it fails. */
export async function call(
  program: string,
  args: readonly string[],
  { cwd, env = process.env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    const options = { env, maxBuffer: mostOutput, ...(cwd !== undefined && { cwd }) };
    return (await execute(program, args, options)).stdout;
  } catch (error) {
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(`${program} ${args.slice(0, 4).join(" ")}: ${stderr || String(error)}`, { cause: error });
  }
}

export function isThere(program: string): boolean {
  try {
    execFileSync("sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export const inMiB = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
