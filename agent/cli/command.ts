import type { Run } from "../base/io.ts";

export interface Option {
  readonly name: string;
  readonly short?: string;
  /** How the value is called in the help: `--config FILE`. Without it the option takes no value. */
  readonly value?: string;
  /** The value of an option that may stand alone: `--watch` is `--watch 2`. */
  readonly bare?: string;
  /** The only values there are. */
  readonly choices?: readonly string[];
  /** Some of the values, for the shell's completion. */
  readonly known?: readonly string[];
  readonly summary: string;
}

export interface Command {
  /** As it is typed: "status", "config show". */
  readonly name: string;
  readonly summary: string;
  /** More sentences, for the help of the command and the man page. */
  readonly details?: string;
  /** What stands after the options, as the help shows it, and how many of them may and must be there. */
  readonly words?: { readonly show: string; readonly least: number; readonly most: number };
  readonly options: readonly Option[];
  readonly exits: readonly number[];
  readonly examples?: readonly string[];
  /** Loads the command's code, and nothing of the other commands. */
  load(): Promise<Run>;
}

export const helpOption: Option = { name: "help", short: "h", summary: "Print this help." };

export const configOption: Option = {
  name: "config",
  short: "c",
  value: "FILE",
  summary: "The configuration file (default: /etc/siteward/siteward.yaml, if it is there).",
};

export const jsonOption: Option = { name: "json", summary: "Print JSON, for programs." };
