import type { ChildProcess, SpawnOptions } from "node:child_process";

/** See fs.ts. Loaded when the first program is started, because few kubeconfigs name a program. */
export const spawn = (command: string, args: readonly string[], options: SpawnOptions): ChildProcess =>
  process.getBuiltinModule("node:child_process").spawn(command, args, options);
