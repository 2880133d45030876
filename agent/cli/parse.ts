import { commands, commandsUnder, groups } from "./commands.ts";
import { meant, parseCommand, type Request, refuse } from "./parse-command.ts";

/** Parses a whole command line against the table of commands. */
export function parse(argv: readonly string[]): Request {
  const [first, second] = argv;
  if (first === undefined || first === "--help" || first === "-h") return { do: "help", of: undefined };
  if (first === "--version" || first === "-V") return parse(["version"]);
  if (first.startsWith("-")) return refuse(`${first} is not known here; options come after the command`);

  const command = commands.find(({ name }) => name === first);
  if (command) return parseCommand(command, argv.slice(1));
  if (Object.hasOwn(groups, first)) return parseGroup(first, second, argv.slice(2));
  return refuse(`${JSON.stringify(first)} is not a command${meant(first, firstWords())}`);
}

/** All first words of commands. */
export const firstWords = (): readonly string[] => [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? name))];

function parseGroup(group: string, word: string | undefined, rest: readonly string[]): Request {
  if (word === "--help" || word === "-h") return { do: "help", of: group };
  const names = commandsUnder(group).map(({ name }) => name.slice(group.length + 1));
  if (word === undefined) return refuse(`${group} needs one of ${names.join(", ")}`);
  const command = commands.find(({ name }) => name === `${group} ${word}`);
  if (command) return parseCommand(command, rest);
  return refuse(`${JSON.stringify(`${group} ${word}`)} is not a command${meant(word, names, `${group} `)}`);
}
