#!/usr/bin/env node
import type { Io, Output } from "./cli/io.ts";

/** Everything but this file is loaded after the version was checked: an older Node would fail in the middle of it. */
const oldestNode = 24;

const [major = 0] = process.versions.node.split(".").map(Number);
if (major < oldestNode) {
  console.error(
    `siteward: needs Node ${oldestNode} or newer; this is ${process.versions.node}. The project brings one along: ` +
      "npm ci, then npm start, npm run siteward -- status, or node_modules/.bin/node dist/main.js",
  );
  process.exit(70);
}

// A reader that has seen enough, as in `siteward status | head -1`, is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 70));
process.stderr.on("error", () => process.exit(70));
process.on("uncaughtException", endWith);
process.on("unhandledRejection", endWith);

try {
  const code = await main();
  await Promise.all([process.stdout, process.stderr].map(written));
  process.exit(code);
} catch (error) {
  endWith(error);
}

async function main(): Promise<number> {
  const [
    { dispatch },
    { lifeline },
    { Interrupted },
    { SystemClock },
    { SystemRandom },
    { hostname },
    { fileURLToPath },
  ] = await Promise.all([
    import("./cli/dispatch.ts"),
    import("./board/runtime-flags.ts"),
    import("./cli/io.ts"),
    import("./base/clock.ts"),
    import("./base/random.ts"),
    import("node:os"),
    import("node:url"),
  ]);
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
  const io: Io = {
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    env: ownEnvironment(),
    signal: interrupt.signal,
    onHangup: (run) => {
      process.on("SIGHUP", run);
      return () => process.off("SIGHUP", run);
    },
    clock: new SystemClock(),
    random: new SystemRandom(),
    hostname: hostname(),
    self: [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url)],
    home: fileURLToPath(new URL("..", import.meta.url)),
  };
  return await dispatch(io, process.argv.slice(2));
}

/**
 * What the service manager says to this very process. Programs that it starts must not speak in its name: those of systemd do
 * where they find these, even of their own failures.
 */
function ownEnvironment(): Io["env"] {
  const env = { ...process.env };
  for (const name of ["NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC"])
    delete process.env[name];
  for (const name of ["SITEWARD_NOTIFY_FD", "SITEWARD_JOURNAL_FD"]) delete process.env[name];
  return env;
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    write: (text) => void stream.write(text),
    get isTTY() {
      return stream.isTTY ?? false;
    },
    get columns() {
      return stream.columns ?? 100;
    },
    get rows() {
      return stream.rows;
    },
  };
}

/** What was written is with the reader. A pipe takes 64 KiB; what waits behind them would be lost with the process. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}

/** A bug of ours, or a machine that fails: one line says what and where, and the supervisor starts us again. */
function endWith(error: unknown): never {
  const [what, where] = error instanceof Error ? (error.stack ?? error.message).split("\n") : [String(error)];
  const place = where === undefined ? "" : ` (${where.trim()})`;
  try {
    process.stderr.write(`siteward: ended by an error of its own: ${what}${place}\n`);
  } finally {
    process.exit(70);
  }
}
