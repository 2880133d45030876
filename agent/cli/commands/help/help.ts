import { exit, meaningFor, meanings } from "../../../base/exit-codes.ts";
import type { Run } from "../../../base/io.ts";
import { nearest } from "../../../base/text/nearest.ts";
import { wrap } from "../../../base/text/wrap.ts";
import { commands as orders } from "../../../commands/desk/definitions/registry.ts";
import { type Command, type CommandTable, commandsUnder, helpOption, type Option } from "../../command.ts";

const width = 96;

export const help =
  (table: CommandTable): Run =>
  async (io, { words }) => {
    const { commands, groups } = table;
    const name = words.join(" ");
    const found = commands.find((command) => command.name === name) ?? (Object.hasOwn(groups, name) ? name : undefined);
    if (found || name === "") {
      io.stdout.write(helpOf(table, found));
      return exit.ok;
    }
    const similar = nearest(name, [...commands.map((command) => command.name), ...Object.keys(groups)]);
    const meant = similar === undefined ? "" : `; did you mean ${similar}?`;
    io.stderr.line(`siteward: ${JSON.stringify(name)} is not a command${meant} (see: siteward help)`);
    return exit.usage;
  };

/** The help of a command, a group or the whole program. */
export function helpOf(table: CommandTable, subject: Command | string | undefined): string {
  if (subject === undefined) return programHelp(table);
  return typeof subject === "string" ? groupHelp(table, subject) : commandHelp(subject);
}

function programHelp({ commands, groups }: CommandTable): string {
  const singles = commands.filter(({ name }) => !name.includes(" "));
  const lines = [...singles, ...Object.entries(groups).map(([name, summary]) => ({ name: `${name} ...`, summary }))];
  return [
    "siteward looks after the boards of a Kubernetes edge site, with one small agent on every board.",
    "",
    "Usage: siteward COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...columns(lines.map(({ name, summary }) => [name, summary])),
    "",
    "Try it without a cluster: siteward up",
    "Help of a command:        siteward COMMAND --help",
    "",
    "Exit codes:",
    ...columns(Object.entries(meanings)),
    "",
  ].join("\n");
}

function groupHelp(table: CommandTable, group: string): string {
  return [
    table.groups[group] ?? "",
    "",
    `Usage: siteward ${group} COMMAND [OPTIONS]`,
    "",
    "Commands:",
    ...columns(commandsUnder(table, group).map(({ name, summary }) => [name, summary])),
    "",
  ].join("\n");
}

/** The help of a command. `typed`: how a user invokes it. */
export function commandHelp(command: Command, typed = `siteward ${command.name}`): string {
  const { name, summary, details, words, options, exits, examples } = command;
  // Every command prints something, and its output may go to a full disk.
  const codes = [...exits, exit.output].sort((a, b) => a - b);
  return [
    summary,
    ...(details ? ["", ...wrap(details, width)] : []),
    "",
    `Usage: ${typed}${options.length > 0 ? " [OPTIONS]" : ""}${words ? ` ${words.show}` : ""}`,
    "",
    "Options:",
    ...columns([...options, helpOption].map((option) => [synopsis(option), option.summary])),
    ...(name === "cmd" ? ["", "Commands (NAME):", ...orderLines()] : []),
    ...(examples ? ["", "Examples:", ...examples.map((example) => `  ${example}`)] : []),
    "",
    "Exit codes:",
    ...columns(codes.map((code) => [String(code), meaningFor(code, command.meanings)])),
    "",
  ].join("\n");
}

/** Formats an option: "-c, --config FILE", "--watch [SECONDS]". */
export function synopsis({ name, short, value, bare }: Option): string {
  const shown = value === undefined ? "" : bare === undefined ? ` ${value}` : ` [${value}]`;
  return `${short === undefined ? "" : `-${short}, `}--${name}${shown}`;
}

/** The commands of `siteward cmd`, each with its description. */
export const orderLines = (): readonly string[] =>
  columns([...orders.values()].map(({ name, sentence }) => [name, sentence]));

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const wide = Math.max(...rows.map(([left]) => left.length)) + 4;
  return rows.flatMap(([left, right]) =>
    wrap(right, width - wide).map((line, at) => `  ${(at === 0 ? left : "").padEnd(wide - 2)}${line}`),
  );
}
