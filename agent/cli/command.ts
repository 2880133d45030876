import type { Run } from "../base/io.ts";

export interface Option {
  readonly name: string;
  readonly short?: string;
  /** Name of the value in the help: `--config FILE`. Absent: a flag without a value. */
  readonly value?: string;
  /** Default of an option whose value may be omitted: `--watch` means `--watch 2`. */
  readonly bare?: string;
  /** The permitted values. */
  readonly choices?: readonly string[];
  /** Some possible values, for shell completion. */
  readonly known?: readonly string[];
  readonly summary: string;
}

export interface Command {
  /** As it is typed: "status", "config show". */
  readonly name: string;
  readonly summary: string;
  /** Further text for the command's help and the man page. */
  readonly details?: string;
  /** Positional arguments: how the help shows them, and how many are required and allowed. */
  readonly words?: { readonly show: string; readonly least: number; readonly most: number };
  readonly options: readonly Option[];
  readonly exits: readonly number[];
  readonly examples?: readonly string[];
  /** Loads the code of this command only. */
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
