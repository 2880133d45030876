import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { SystemClock } from "../base/clock.ts";
import { Interrupted, type Io } from "../base/io.ts";
import { SystemRandom } from "../base/random.ts";
import { serviceVariables } from "../base/service-variables.ts";
import { lifeline } from "../board/profile/runtime-flags.ts";
import { terminalOutput } from "./terminal-output.ts";

/** The real `Io` of this process. `main`: the URL of the started file. */
export function processIo(main: string): Io {
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (interrupt.signal.aborted) process.exit(signal === "SIGINT" ? 130 : 143);
      interrupt.abort(new Interrupted(signal));
    });
  }
  if (Object.entries(lifeline).every(([name, value]) => process.env[name] === value)) {
    process.stdin.once("close", () => interrupt.abort(new Interrupted("SIGTERM"))).resume();
  }
  return {
    stdout: terminalOutput(process.stdout, process.env),
    stderr: terminalOutput(process.stderr, process.env),
    env: ownEnvironment(),
    signal: interrupt.signal,
    onHangup: (run) => {
      process.on("SIGHUP", run);
      return () => process.off("SIGHUP", run);
    },
    clock: new SystemClock(),
    random: new SystemRandom(),
    hostname: hostname(),
    self: [process.execPath, ...process.execArgv, fileURLToPath(main)],
    home: fileURLToPath(new URL("..", main)),
  };
}

/**
 * A copy of the environment. Removes systemd's variables from the environment that child processes inherit: otherwise,
 * systemd's own programs would report their failures as the agent's.
 */
function ownEnvironment(): Io["env"] {
  const env = { ...process.env };
  for (const name of [...serviceVariables, "SITEWARD_NOTIFY_FD", "SITEWARD_JOURNAL_FD"]) delete process.env[name];
  return env;
}
