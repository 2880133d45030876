import { parseCommand } from "./parse-command.ts";
import { perform } from "./perform.ts";
import { processIo } from "./process-io.ts";
import { runCommand } from "./run-command.ts";

export { run } from "../process/run.ts";

/**
 * Handles `siteward run` alone; undefined for anything else, such as `run --help`. The build bundles this file
 * separately, because otherwise the bundler would split the code that it shares with other commands into a hundred
 * small chunks, which cost each agent another megabyte.
 */
export async function agentAlone(main: string, argv: readonly string[]): Promise<number | undefined> {
  const request = parseCommand(runCommand, argv);
  return request.do === "run" ? await perform(processIo(main), runCommand, request.args) : undefined;
}
