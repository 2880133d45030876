import type { Run } from "../base/io.ts";

export interface Option {
  readonly name: string;
  readonly short?: string;
  /** The value's name in the help: `--config FILE`. Absent for a flag, which takes no value. */
  readonly value?: string;
  /**
   * The default when the option is given without a value: `--watch` means `--watch 2`. Absent if a value is required.
   */
  readonly bare?: string;
  /** The permitted values. */
  readonly choices?: readonly string[];
  /** Some possible values, for shell completion. */
  readonly known?: readonly string[];
  readonly summary: string;
}

export interface Command {
  /** As the user types it: "status", "config show". */
  readonly name: string;
  readonly summary: string;
  /** Additional text for the command's help and the man page. */
  readonly details?: string;
  /** Positional arguments: how the help shows them, and how many are required and allowed. */
  readonly words?: { readonly show: string; readonly least: number; readonly most: number };
  readonly options: readonly Option[];
  readonly exits: readonly number[];
  /** The meanings of exit codes for this command, where they differ from those for most commands. */
  readonly meanings?: Readonly<Record<number, string>>;
  readonly examples?: readonly string[];
  /** Loads the code of this command only. */
  load(): Promise<Run>;
}

/** All commands. The parser, the help, the completion and the man page use this table. */
export interface CommandTable {
  readonly commands: readonly Command[];
  /** First words of two-word commands, each with its summary. */
  readonly groups: Readonly<Record<string, string>>;
}

/** The commands of a group. */
export const commandsUnder = ({ commands }: CommandTable, group: string): readonly Command[] =>
  commands.filter(({ name }) => name.startsWith(`${group} `));

/** The first words of all commands, each once. */
export const firstWords = ({ commands }: CommandTable): readonly string[] => [
  ...new Set(commands.map(({ name }) => name.split(" ")[0] ?? name)),
];

export const helpOption: Option = { name: "help", short: "h", summary: "Print this help." };

export const configOption: Option = {
  name: "config",
  short: "c",
  value: "FILE",
  summary: "The configuration file (default: /etc/siteward/siteward.yaml, if it exists).",
};

export const jsonOption: Option = { name: "json", summary: "Print JSON, for programs." };
