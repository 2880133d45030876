import { parseArgs } from "node:util";
import { nearest } from "../base/nearest.ts";
import { type Command, helpOption, type Option } from "./command.ts";
import { commands, commandsUnder, groups } from "./commands.ts";
import type { Args } from "./io.ts";

/** What a command line asks for. */
export type Request =
  | { readonly do: "run"; readonly command: Command; readonly args: Args }
  /** Of a command, of a group, or of the program. */
  | { readonly do: "help"; readonly of: Command | string | undefined }
  /** One sentence: what is wrong, and what may have been meant. */
  | { readonly do: "refuse"; readonly problem: string };

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

/** All words that a command line may begin with. */
export const firstWords = (): readonly string[] => [...new Set(commands.map(({ name }) => name.split(" ")[0] ?? name))];

function parseGroup(group: string, word: string | undefined, rest: readonly string[]): Request {
  if (word === "--help" || word === "-h") return { do: "help", of: group };
  const names = commandsUnder(group).map(({ name }) => name.slice(group.length + 1));
  if (word === undefined) return refuse(`${group} needs one of ${names.join(", ")}`);
  const command = commands.find(({ name }) => name === `${group} ${word}`);
  if (command) return parseCommand(command, rest);
  return refuse(`${JSON.stringify(`${group} ${word}`)} is not a command${meant(word, names, `${group} `)}`);
}

function parseCommand(command: Command, argv: readonly string[]): Request {
  const options = [...command.options, helpOption];
  const { tokens } = parseArgs({
    args: withBareValues(argv, options),
    options: Object.fromEntries(options.map(asNodeHasIt)),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });

  const flags = new Set<string>();
  const values = new Map<string, string>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const option = options.find(({ name }) => name === token.name);
    if (!option) {
      const names = options.map(({ name }) => `--${name}`);
      return refuse(`${command.name}: ${token.rawName} is not an option${meant(token.rawName, names)}`);
    }
    if (option === helpOption) return { do: "help", of: command };
    if (option.value === undefined) {
      if (token.value !== undefined) return refuse(`${command.name}: ${token.rawName} takes no value`);
      flags.add(option.name);
      continue;
    }
    if (token.value === undefined || (token.value.startsWith("-") && !token.inlineValue))
      return refuse(`${command.name}: ${token.rawName} needs a value: ${token.rawName} ${option.value}`);
    if (option.choices && !option.choices.includes(token.value))
      return refuse(`${command.name}: ${token.rawName} takes ${option.choices.join(" or ")}`);
    values.set(option.name, token.value);
  }
  const { least = 0, most = 0, show = "" } = command.words ?? {};
  if (words.length < least) return refuse(`${command.name} needs ${show}`);
  if (words.length > most) return refuse(`${command.name}: ${JSON.stringify(words[most])} is one word too many`);
  return { do: "run", command, args: { flags, values, words } };
}

const asNodeHasIt = ({ name, short, value }: Option) =>
  [
    name,
    {
      type: value === undefined ? ("boolean" as const) : ("string" as const),
      ...(short === undefined ? {} : { short }),
    },
  ] as const;

/** `--watch` alone is `--watch=2`, and `--watch 5` is `--watch=5`: parseArgs knows no optional values. */
function withBareValues(argv: readonly string[], options: readonly Option[]): string[] {
  const result: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (word === "--") return [...result, ...argv.slice(at)];
    const option = options.find(({ name, bare }) => bare !== undefined && word === `--${name}`);
    const next = argv[at + 1];
    if (!option) result.push(word);
    else if (next !== undefined && !next.startsWith("-")) {
      result.push(`${word}=${next}`);
      at++;
    } else result.push(`${word}=${option.bare}`);
  }
  return result;
}

const refuse = (problem: string): Request => ({ do: "refuse", problem });

function meant(word: string, among: readonly string[], before = ""): string {
  const similar = nearest(word, among);
  return similar === undefined ? "" : `; did you mean ${before}${similar}?`;
}
