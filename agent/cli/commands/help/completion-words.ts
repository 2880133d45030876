import type { Io } from "../../../base/io.ts";
import { commands as orders } from "../../../commands/desk/definitions/registry.ts";
import { settings } from "../../../config/settings.ts";
import { checkIds } from "../../../doctor/examination.ts";
import { profilesOf } from "../../../process/load-config.ts";
import { type Command, type CommandTable, firstWords, type Option } from "../../command.ts";
import { pathsIn } from "../config.ts";

/** Words and values for shell completion, as known when the script is generated. */
export interface CompletionWords {
  /** The permitted arguments: a shell, a command, a setting; empty if they are not known. */
  choicesOf(command: Command): readonly string[];
  /** Suggested values; empty if none are known. */
  valuesOf(command: Command, option: Option): readonly string[];
  /** Whether the option takes several comma-separated values. */
  isList(option: Option): boolean;
}

export function completionWords(io: Pick<Io, "home">, table: CommandTable): CompletionWords {
  const profiles = profilesOf(io).profiles.map(({ id }) => id);
  const words: Readonly<Record<string, () => readonly string[]>> = {
    help: () => firstWords(table),
    "config explain": () => [...pathsIn(settings)],
    cmd: () => [...orders.keys()],
    why: () => ["last", "node/", "pod/"],
    "profile show": () => profiles,
    "profile apply": () => profiles,
  };
  return {
    choicesOf: ({ name, words: { show = "" } = {} }) => {
      if (Object.hasOwn(words, name)) return words[name]?.() ?? [];
      return /^[a-z]+(\|[a-z]+)+$/.test(show) ? show.split("|") : [];
    },
    valuesOf: ({ name }, { choices, known, ...option }) =>
      choices ?? known ?? (name === "doctor" && option.name === "only" ? checksAndGroups() : []),
    isList: ({ value = "" }) => value.endsWith(",..."),
  };
}

const checksAndGroups = (): readonly string[] => [
  ...new Set(checkIds.flatMap((id) => [id.slice(0, id.indexOf(".")), id])),
];
