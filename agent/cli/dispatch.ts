import { exit } from "../base/exit-codes.ts";
import type { Io } from "../base/io.ts";
import { commandTable } from "./commands.ts";
import { parse } from "./parse.ts";
import { perform } from "./perform.ts";

/** Runs a command line and returns the exit code. Loads only the code of the requested command. */
export async function dispatch(io: Io, argv: readonly string[]): Promise<number> {
  const request = parse(argv);
  if (request.do === "refuse") {
    io.stderr.line(`siteward: ${request.problem} (see: ${request.see})`);
    return exit.usage;
  }
  if (request.do === "help") {
    const { helpOf } = await import("./commands/help/help.ts");
    io.stdout.write(helpOf(commandTable, request.of));
    return exit.ok;
  }
  return await perform(io, request.command, request.args);
}
