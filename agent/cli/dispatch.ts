import { ConfigError, hintOf, sentenceOf } from "../base/errors.ts";
import { exit } from "./exit-codes.ts";
import type { Io } from "./io.ts";
import { parse } from "./parse.ts";

/** One command line, from words to exit code. Only the code of the command that was asked for is loaded. */
export async function dispatch(io: Io, argv: readonly string[]): Promise<number> {
  const request = parse(argv);
  if (request.do === "refuse") {
    io.stderr.write(`siteward: ${request.problem} (see: siteward help)\n`);
    return exit.usage;
  }
  if (request.do === "help") {
    const { helpOf } = await import("./help.ts");
    io.stdout.write(helpOf(request.of));
    return exit.ok;
  }
  const run = await request.command.load();
  try {
    return await run(io, request.args);
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems) io.stderr.write(`siteward: ${problem}\n`);
      return exit.config;
    }
    // Errors that state a disposition were foreseen, and say what was attempted; anything else is a bug of ours.
    if (!(error instanceof Error && "disposition" in error)) throw error;
    const hint = hintOf(error);
    io.stderr.write(`siteward: ${sentenceOf(error)}\n${hint === undefined ? "" : `  ${hint}\n`}`);
    return exit.failed;
  }
}
