import { exit } from "../../agent/base/exit-codes.ts";
import type { Io } from "../../agent/base/io.ts";
import { type Command, jsonOption } from "../../agent/cli/command.ts";
import { commandHelp } from "../../agent/cli/commands/help/help.ts";
import { parseCommand } from "../../agent/cli/parse-command.ts";
import { perform } from "../../agent/cli/perform.ts";

const replayCommand: Command = {
  name: "replay",
  summary: "Run a behaviour case through the rules of the agent, without a cluster.",
  details:
    "A case is a JSON file: what is there, what happens, and when. The very functions that judge a site run it on a " +
    "clock of its own, and the outcome is printed as JSON. Where the case says what it expects, the exit code tells " +
    "whether that came true, and each difference is printed. A folder stands for all *.json in it, - for standard " +
    "input. With --schema the words are names of families, and everything that a case of them may say is printed.",
  words: { show: "CASE.json|FOLDER|-...", least: 0, most: 10_000 },
  options: [
    { name: "schema", summary: "Print the JSON schema of cases and outcomes: of all families, or of those named." },
    { ...jsonOption, summary: "Print one line of JSON for each case: id, verdict, differences, outcome." },
  ],
  exits: [exit.ok, exit.failed, exit.usage],
  examples: ["npm run replay -- case.json", "npm run replay -- test/cases", "npm run replay -- --schema HD"],
  load: async () => (await import("./run-cases.ts")).run,
};

/** `npm run replay -- …`, from arguments to exit code. */
export async function replayCases(io: Io, argv: readonly string[]): Promise<number> {
  const request = parseCommand(replayCommand, argv);
  if (request.do === "refuse") {
    io.stderr.line(`${request.problem} (see: npm run replay -- --help)`);
    return exit.usage;
  }
  if (request.do === "help") {
    io.stdout.write(commandHelp(replayCommand, "npm run replay --"));
    return exit.ok;
  }
  return await perform(io, replayCommand, request.args);
}
