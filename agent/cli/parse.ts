import { commandsUnder, firstWords } from "./command.ts";
import { commandTable } from "./commands.ts";
import { type CommandLine, meant, parseCommand, refuse } from "./parse-command.ts";

const { commands, groups } = commandTable;

/** Parses a whole command line against the table of commands. */
export function parse(argv: readonly string[]): CommandLine {
  const [first, second] = argv;
  if (first === undefined || first === "--help" || first === "-h") return { do: "help", of: undefined };
  if (first === "--version" || first === "-V") return parse(["version"]);
  if (first.startsWith("-")) return refuse(`unknown option ${first}; options come after the command`);

  const command = commands.find(({ name }) => name === first);
  if (command) return parseCommand(command, argv.slice(1));
  if (Object.hasOwn(groups, first)) return parseGroup(first, second, argv.slice(2));
  return refuse(`${JSON.stringify(first)} is not a command${meant(first, firstWords(commandTable))}`);
}

function parseGroup(group: string, word: string | undefined, rest: readonly string[]): CommandLine {
  if (word === "--help" || word === "-h") return { do: "help", of: group };
  const see = `siteward ${group} --help`;
  const names = commandsUnder(commandTable, group).map(({ name }) => name.slice(group.length + 1));
  if (word === undefined) return refuse(`${group} needs one of ${names.join(", ")}`, see);
  const command = commands.find(({ name }) => name === `${group} ${word}`);
  if (command) return parseCommand(command, rest);
  return refuse(`${JSON.stringify(`${group} ${word}`)} is not a command${meant(word, names, `${group} `)}`, see);
}
