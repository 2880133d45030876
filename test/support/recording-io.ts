import type { Clock } from "../../agent/base/clock.ts";
import type { Io } from "../../agent/base/io.ts";
import { terminalOutput } from "../../agent/cli/terminal-output.ts";
import { FakeClock } from "./fake-clock.ts";
import { SeededRandom } from "./seeded-random.ts";

export interface RecordingIo extends Io {
  out(): string;
  err(): string;
  readonly stop: AbortController;
  /** As SIGHUP does. */
  hangUp(): void;
}

/** A command's `Io` that records its output. */
export function recordingIo(
  changes: {
    readonly env?: Io["env"];
    readonly hostname?: string;
    readonly home?: string;
    readonly clock?: Clock;
    readonly isTTY?: boolean;
    readonly columns?: number;
  } = {},
): RecordingIo {
  const written = { stdout: "", stderr: "" };
  const {
    isTTY = false,
    columns = 100,
    env = {},
    hostname = "pi-3",
    home = "/nowhere",
    clock = new FakeClock(),
  } = changes;
  const output = (name: "stdout" | "stderr") => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTTY,
    columns,
    rows: 24,
  });
  const stop = new AbortController();
  const hangups = new Set<() => void>();
  return {
    stdout: terminalOutput(output("stdout"), env),
    stderr: terminalOutput(output("stderr"), env),
    env,
    hostname,
    home,
    clock,
    random: new SeededRandom(),
    signal: stop.signal,
    onHangup: (run) => {
      hangups.add(run);
      return () => hangups.delete(run);
    },
    hangUp: () => {
      for (const run of hangups) run();
    },
    self: ["node", "main.js"],
    stop,
    out: () => written.stdout,
    err: () => written.stderr,
  };
}
