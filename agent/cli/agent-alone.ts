import { parseCommand } from "./parse-command.ts";
import { perform } from "./perform.ts";
import { processIo } from "./process-io.ts";
import { runCommand } from "./run-command.ts";

export { run } from "../process/run.ts";

/**
 * `siteward run` without the other commands; the build bundles this file separately. Code shared with the other
 * commands would be split into a hundred small chunks and cost a megabyte in each agent. Returns undefined if anything
 * but the agent is requested, such as `run --help`.
 */
export async function agentAlone(main: string, argv: readonly string[]): Promise<number | undefined> {
  const request = parseCommand(runCommand, argv);
  return request.do === "run" ? await perform(processIo(main), runCommand, request.args) : undefined;
}
