import { parseCommand } from "./parse-command.ts";
import { perform } from "./perform.ts";
import { processIo } from "./process-io.ts";
import { runCommand } from "./run-command.ts";

export { run } from "../process/run.ts";

/**
 * `siteward run`, and nothing of the other commands: the build makes a bundle of its own of this file. Code that is shared
 * with them would come in a hundred small pieces, each with what only they need, and cost a megabyte in each agent.
 * Answers undefined where something else is asked for than the agent, as by `run --help`.
 */
export async function agentAlone(main: string, argv: readonly string[]): Promise<number | undefined> {
  const request = parseCommand(runCommand, argv);
  return request.do === "run" ? await perform(processIo(main), runCommand, request.args) : undefined;
}
