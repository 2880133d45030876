import { exit } from "../../../base/exit-codes.ts";
import type { Run } from "../../../base/io.ts";
import { type Command, type CommandTable, commandsUnder, firstWords, helpOption, type Option } from "../../command.ts";
import { type CompletionWords, completionWords } from "./completion-words.ts";

export const completion =
  (table: CommandTable): Run =>
  async (io, { words: [shell = ""] }) => {
    const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
    if (!script) {
      io.stderr.line(`siteward: completion: ${JSON.stringify(shell)} is not one of ${Object.keys(shells).join(", ")}`);
      return exit.usage;
    }
    io.stdout.write(script(table, completionWords(io, table)));
    return exit.ok;
  };

const shells: Readonly<Record<string, (table: CommandTable, words: CompletionWords) => string>> = { bash, zsh, fish };

const optionsOf = (command: Command): readonly Option[] => [...command.options, helpOption];
const named = (option: Option): string => `--${option.name}`;
const takesFile = ({ value = "" }: Option): boolean => /FILE|FOLDER/.test(value);
const wordsTakeFiles = ({ words }: Command): boolean => /FILE|FOLDER/.test(words?.show ?? "");
function bash(table: CommandTable, { choicesOf, valuesOf, isList }: CompletionWords): string {
  const { commands, groups } = table;
  const cases = commands.map((command) => {
    const words = [...optionsOf(command).map(named), ...choicesOf(command)].join(" ");
    const files = wordsTakeFiles(command) ? " -f" : "";
    return `    "${command.name}") COMPREPLY=($(compgen${files} -W "${words}" -- "$cur")) ;;`;
  });
  const groupCases = Object.keys(groups).map((group) => `    ${group}) ${bashWords(inGroup(table, group))}; return ;;`);
  const valued = commands.flatMap((command) =>
    optionsOf(command)
      .filter(({ value, bare }) => value !== undefined && bare === undefined)
      .map((option) => [named(option), bashValues(option, valuesOf(command, option), isList(option))] as const),
  );
  const valueCases = new Map(valued);
  return `# bash completion for siteward
_siteward() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then ${bashWords(firstWords(table))}; return; fi
  case "$prev" in
${[...valueCases].map(([option, values]) => `    ${option}) ${values}return ;;`).join("\n")}
  esac
  if [ "$COMP_CWORD" -eq 2 ]; then case "$command" in
${groupCases.join("\n")}
  esac; fi
  case "$command" in ${Object.keys(groups).join("|")}) command="$command \${COMP_WORDS[2]}" ;; esac
  case "$command" in
${cases.join("\n")}
  esac
}
complete -o filenames -F _siteward siteward
`;
}

const bashWords = (words: readonly string[]): string => `COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur"))`;

function bashValues(option: Option, words: readonly string[], isList: boolean): string {
  if (takesFile(option)) return `COMPREPLY=($(compgen -f -W "${words.join(" ")}" -- "$cur")); `;
  if (words.length === 0) return "";
  if (!isList) return `${bashWords(words)}; `;
  // Keep everything before the last comma.
  return `local before=; [[ $cur == *,* ]] && before=\${cur%,*},; COMPREPLY=($(compgen -P "$before" -W "${words.join(" ")}" -- "\${cur##*,}")); `;
}

const inGroup = (table: CommandTable, group: string): readonly string[] =>
  commandsUnder(table, group).map(({ name }) => name.slice(group.length + 1));

function zsh(table: CommandTable, { choicesOf, valuesOf, isList }: CompletionWords): string {
  const { commands, groups } = table;
  const described = (rows: readonly (readonly [string, string])[]): string =>
    rows.map(([name, summary]) => `'${name}:${zshText(summary)}'`).join(" ");
  const firsts = firstWords(table).map((name): readonly [string, string] => [name, summaryOf(table, name)]);
  const groupCases = Object.keys(groups).map((group) => {
    const rows = commandsUnder(table, group).map(
      ({ name, summary }) => [name.slice(group.length + 1), summary] as const,
    );
    return `    ${group}) local -a inner=(${described(rows)}); _describe command inner; return ;;`;
  });
  const cases = commands.map((command) => {
    const options = optionsOf(command).map((option) => {
      const { name, value, summary } = option;
      const argument =
        value === undefined ? "" : `:${value}:${zshValues(option, valuesOf(command, option), isList(option))}`;
      return `'--${name}[${zshText(summary)}]${argument}'`;
    });
    const [choices, files] = [choicesOf(command), wordsTakeFiles(command)];
    const offered = zshOffer(choices, files);
    const words = offered === "" ? "" : ` '*:word:${offered}'`;
    return `    "${command.name}") _arguments ${options.join(" ")}${words} ;;`;
  });
  return `#compdef siteward
_siteward() {
  local command=$words[2]
  if (( CURRENT == 2 )); then
    local -a commands=(${described(firsts)})
    _describe command commands
    return
  fi
  if (( CURRENT == 3 )); then case "$command" in
${groupCases.join("\n")}
  esac; fi
  # _arguments expects the command as the first word.
  local -i names=1
  case "$command" in ${Object.keys(groups).join("|")}) command="$command $words[3]" names=2 ;; esac
  shift $names words
  (( CURRENT -= names ))
  case "$command" in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = "_siteward" ]; then _siteward "$@"; else compdef _siteward siteward; fi
`;
}

function zshValues(option: Option, words: readonly string[], isList: boolean): string {
  // Works because no value contains a colon, which separates values from descriptions in _values.
  return isList ? `_values -s , value ${words.join(" ")}` : zshOffer(words, takesFile(option));
}

function zshOffer(words: readonly string[], files: boolean): string {
  if (words.length === 0) return files ? "_files" : "";
  return files ? `{ compadd -- ${words.join(" ")}; _files }` : `(${words.join(" ")})`;
}

const summaryOf = ({ commands, groups }: CommandTable, name: string): string =>
  groups[name] ?? commands.find((command) => command.name === name)?.summary ?? "";

/** Escapes text for use within single quotes, in a description that a bracket or colon would end. */
const zshText = (text: string): string => text.replaceAll("'", "'\\''").replace(/[[\]:]/g, "\\$&");

function fish(table: CommandTable, { choicesOf, valuesOf, isList }: CompletionWords): string {
  const { commands, groups } = table;
  const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const line = (condition: string, rest: string): string => `complete -c siteward -n ${quoted(condition)} ${rest}`;
  const firsts = firstWords(table).map((name) =>
    line("__fish_use_subcommand", `-f -a ${name} -d ${quoted(summaryOf(table, name))}`),
  );
  const inner = Object.keys(groups).flatMap((group) =>
    commandsUnder(table, group).map(({ name, summary }) => {
      const names = inGroup(table, group).join(" ");
      const condition = `__fish_seen_subcommand_from ${group}; and not __fish_seen_subcommand_from ${names}`;
      return line(condition, `-f -a ${name.slice(group.length + 1)} -d ${quoted(summary)}`);
    }),
  );
  const options = commands.flatMap((command) => {
    const condition = command.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    const rows = optionsOf(command).map((option) => {
      const value = option.value === undefined ? "" : takesFile(option) ? " -r -F" : " -x";
      const values = valuesOf(command, option).join(" ");
      const offered = isList(option) ? `(__fish_append , ${values})` : values;
      const choices = values === "" ? "" : ` -a ${quoted(offered)}`;
      return line(condition, `-l ${option.name}${value}${choices} -d ${quoted(option.summary)}`);
    });
    const choices = choicesOf(command);
    const noFiles = wordsTakeFiles(command) ? "" : "-f ";
    return choices.length > 0 ? [...rows, line(condition, `${noFiles}-a ${quoted(choices.join(" "))}`)] : rows;
  });
  return `# fish completion for siteward\n${[...firsts, ...inner, ...options].join("\n")}\n`;
}
