#!/usr/bin/env node
/** The version is checked before any other file is loaded, because an older Node would fail while loading them. */
const oldestNode = 24;

const [major = 0] = process.versions.node.split(".").map(Number);
if (major < oldestNode) {
  console.error(
    `siteward: needs Node ${oldestNode} or newer; this is ${process.versions.node}. The project installs a suitable one: ` +
      "npm ci, then npm start, npm run siteward -- status, or node_modules/.bin/node dist/main.js",
  );
  process.exit(70);
}

// A reader that closes the pipe early, as in `siteward status | head -1`, is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`siteward: the output cannot be written: ${error.message}\n`);
  process.exit(74);
});
process.stderr.on("error", () => process.exit(70));
const { cleanText: cleaned } = await import("./base/text/terminal-text.ts");
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
  const [command, ...args] = process.argv.slice(2);
  if (command === "run") {
    const { agentAlone } = await import("./cli/agent-alone.ts");
    const code = await agentAlone(import.meta.url, args);
    if (code !== undefined) return code;
  }
  const { anyCommand } = await import("./cli/any-command.ts");
  return await anyCommand(import.meta.url, process.argv.slice(2));
}

/**
 * Resolves when all output is written. A pipe holds 64 KiB; anything beyond that would be lost when the process exits.
 */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write("", () => resolve());
  });
}

/**
 * Ends the process after an unexpected error, which is logged with its location in one line. The service manager then
 * starts a new process.
 */
function endWith(error: unknown): never {
  const [what, where] = error instanceof Error ? (error.stack ?? error.message).split("\n") : [String(error)];
  const place = where === undefined ? "" : ` (${where.trim()})`;
  try {
    process.stderr.write(cleaned(`siteward: ended by an unexpected error: ${what}${place}\n`));
  } finally {
    process.exit(70);
  }
}
