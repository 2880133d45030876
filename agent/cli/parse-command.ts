import { parseArgs } from "node:util";
import type { Args } from "../base/io.ts";
import { nearest } from "../base/text/nearest.ts";
import { type Command, helpOption, type Option } from "./command.ts";

/** The parsed command line. */
export type CommandLine =
  | { readonly do: "run"; readonly command: Command; readonly args: Args }
  /** Help of a command, a group or the whole program. */
  | { readonly do: "help"; readonly of: Command | string | undefined }
  /** `problem`: a sentence, with a suggestion if there is one. `see`: the command line that prints the help about it. */
  | { readonly do: "refuse"; readonly problem: string; readonly see: string };

/** Parses the words after a command's name against its table entry. */
export function parseCommand(command: Command, argv: readonly string[]): CommandLine {
  const options = [...command.options, helpOption];
  const refused = (problem: string): CommandLine => refuse(problem, `siteward ${command.name} --help`);
  const { tokens } = parseArgs({
    args: withBareValues(argv, options),
    options: Object.fromEntries(options.map(parseArgsOption)),
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
      return refused(`${command.name}: ${token.rawName} is not an option${meant(token.rawName, names)}`);
    }
    if (option === helpOption) return { do: "help", of: command };
    if (option.value === undefined) {
      if (token.value !== undefined) return refused(`${command.name}: ${token.rawName} takes no value`);
      flags.add(option.name);
      continue;
    }
    if (token.value === undefined || (token.value.startsWith("-") && !token.inlineValue))
      return refused(`${command.name}: ${token.rawName} needs a value: ${token.rawName} ${option.value}`);
    if (option.choices && !option.choices.includes(token.value))
      return refused(`${command.name}: ${token.rawName} takes ${option.choices.join(" or ")}`);
    values.set(option.name, token.value);
  }
  const { least = 0, most = 0, show = "" } = command.words ?? {};
  if (words.length < least) return refused(`${command.name} needs ${show}`);
  if (words.length > most) return refused(`${command.name}: ${JSON.stringify(words[most])} is one word too many`);
  return { do: "run", command, args: { flags, values, words } };
}

const parseArgsOption = ({ name, short, value }: Option) =>
  [
    name,
    {
      type: value === undefined ? ("boolean" as const) : ("string" as const),
      ...(short === undefined ? {} : { short }),
    },
  ] as const;

/** Rewrites `--watch` to `--watch=2` and `--watch 5` to `--watch=5`: parseArgs does not support optional values. */
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

export const refuse = (problem: string, see = "siteward help"): CommandLine => ({ do: "refuse", problem, see });

/** A suggestion for a mistyped word, as the end of a sentence; "" if none is similar. */
export function meant(word: string, among: readonly string[], before = ""): string {
  const similar = nearest(word, among);
  return similar === undefined ? "" : `; did you mean ${before}${similar}?`;
}
