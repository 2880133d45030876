import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { completion } from "../../../agent/cli/commands/help/completion.ts";
import { helpOf } from "../../../agent/cli/commands/help/help.ts";
import { manPage } from "../../../agent/cli/commands/help/man.ts";
import { commandTable } from "../../../agent/cli/commands.ts";
import { dispatch } from "../../../agent/cli/dispatch.ts";
import { commands as orders } from "../../../agent/commands/desk/definitions/registry.ts";
import { recordingIo } from "../../support/recording-io.ts";

const { commands, groups } = commandTable;
const folder = mkdtempSync(path.join(tmpdir(), "siteward-completion-"));
afterAll(() => rmSync(folder, { recursive: true }));

const optionsOf = (name: string): string[] =>
  (commands.find((command) => command.name === name)?.options ?? []).map((option) => `--${option.name}`);

test("the help of the program names every command and fits on a terminal", () => {
  const help = helpOf(commandTable, undefined);
  for (const { name } of commands)
    expect(help).toContain(`  ${name.includes(" ") ? `${name.split(" ")[0]} ...` : name}`);
  expect(help.split("\n").filter((line) => line.length > 100)).toEqual([]);
});

test("the help of each command names its options, words and exit codes", () => {
  for (const command of commands) {
    const help = helpOf(commandTable, command);
    expect(help).toContain(`Usage: siteward ${command.name}`);
    for (const option of optionsOf(command.name)) expect(help).toContain(option);
    for (const code of [...command.exits, 74]) expect(help).toMatch(new RegExp(`^ {2}${code} `, "m"));
    expect(help.split("\n").filter((line) => line.length > 100)).toEqual([]);
  }
  for (const group of Object.keys(groups))
    expect(helpOf(commandTable, group)).toContain(`Usage: siteward ${group} COMMAND`);
});

test("the help of a command explains its own exit codes", () => {
  const meaning = (name: string, code: number): string =>
    new RegExp(`^ {2}${code} +(.*)$`, "m").exec(
      helpOf(
        commandTable,
        commands.find((command) => command.name === name),
      ),
    )?.[1] ?? "";
  expect(meaning("why", 1)).toBe("this board has no record of that");
  expect(meaning("replay", 1)).toBe("the decision differs from the recorded one");
  expect(meaning("keygen", 1)).toBe("the command failed");
  expect(meaning("status", 1)).toContain("degraded");
  expect(meaning("config check", 78)).toBe("the configuration cannot be used");
});

test("the help of siteward cmd and the man page list the commands with their descriptions", () => {
  const help = helpOf(
    commandTable,
    commands.find(({ name }) => name === "cmd"),
  );
  const page = manPage(commandTable).replaceAll("\\-", "-");
  for (const { name, sentence } of orders.values()) {
    expect(help).toMatch(new RegExp(`^ {2}${name} +${sentence.slice(0, 20)}`, "m"));
    expect(page).toContain(`\\fB${name}\\fR\n${sentence}`);
  }
});

test("siteward help COMMAND prints the same as siteward COMMAND --help", async () => {
  const [asked, flagged] = [recordingIo(), recordingIo()];
  expect(await dispatch(asked, ["help", "config", "show"])).toBe(0);
  expect(await dispatch(flagged, ["config", "show", "--help"])).toBe(0);
  expect(asked.out()).toBe(flagged.out());
  const wrong = recordingIo();
  expect(await dispatch(wrong, ["help", "stauts"])).toBe(64);
  expect(wrong.err()).toBe('siteward: "stauts" is not a command; did you mean status? (see: siteward help)\n');
});

test("the man page has a part for every command and every option", () => {
  const page = manPage(commandTable).replaceAll("\\-", "-");
  for (const { name, options } of commands) {
    expect(page).toContain(`.SS "siteward ${name}`);
    for (const option of options) expect(page).toContain(`--${option.name}`);
  }
});

test("no line of text in the man page begins with a roff control character", () => {
  const requests = /^\.(TH|SH|SS|TP|PP|B|nf|fi)\b/;
  expect(
    manPage(commandTable)
      .split("\n")
      .filter((line) => /^[.']/.test(line) && !requests.test(line)),
  ).toEqual([]);
});

const home = path.resolve(import.meta.dirname, "../../..");

function scriptFor(shell: string): string {
  const io = recordingIo({ home });
  completion(commandTable)(io, { flags: new Set(), values: new Map(), words: [shell] });
  return io.out();
}

/** What bash offers after these words; the last one is the one under the cursor. */
function offered(words: readonly string[]): string[] {
  const script = path.join(folder, "siteward.bash");
  writeFileSync(script, scriptFor("bash"));
  const ask = `source ${script}; COMP_WORDS=(siteward ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _siteward; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["--norc", "-c", ask], { encoding: "utf8" }).split("\n").filter(Boolean).sort();
}

test("bash offers commands, then the options and arguments of the command", () => {
  expect(offered([""])).toEqual([...new Set(commands.map(({ name }) => name.split(" ")[0]))].sort());
  expect(offered(["st"])).toEqual(["status"]);
  expect(offered(["config", ""])).toEqual(["check", "example", "explain", "reference", "rollback", "schema", "show"]);
  expect(offered(["config", "show", "--o"])).toEqual(["--origin"]);
  expect(offered(["up", "--"])).toEqual([...optionsOf("up"), "--help"].sort());
  expect(offered(["status", "--wait", ""])).toEqual(["ready"]);
  expect(offered(["up", "--scenario", "zone-"])).toEqual(["zone-outage"]);
  expect(offered(["up", "--boards", ""])).toEqual([]);
  expect(offered(["help", "co"])).toEqual(["completion", "config"]);
  expect(offered(["config", "explain", "nodeLifecycle.g"])).toEqual(["nodeLifecycle.gracePeriod"]);
  expect(offered(["why", ""]).filter((word) => !word.startsWith("-"))).toEqual(["last", "node/", "pod/"]);
  expect(offered(["cmd", "board.c"])).toEqual(["board.confirm-dead", "board.cordon"]);
  expect(offered(["profile", "show", "jetson-orin"])).toEqual(["jetson-orin-nano", "jetson-orin-nx"]);
  expect(offered(["profile", "apply", "generic-s"])).toEqual(["generic-small"]);
  expect(offered(["doctor", "--only", "clock"])).toEqual(["clock", "clock.skew", "clock.sync"]);
  expect(offered(["doctor", "--only", "api,clock.s"])).toEqual(["api,clock.skew", "api,clock.sync"]);
  expect(offered(["completion", ""]).filter((word) => !word.startsWith("-"))).toEqual(["bash", "fish", "zsh"]);
});

test.each(["zsh", "fish"])("the script for %s covers every command and option", async (shell) => {
  const io = recordingIo();
  expect(await dispatch(io, ["completion", shell])).toBe(0);
  for (const { name, options } of commands) {
    expect(io.out()).toContain(name.split(" ").at(-1));
    for (const option of options) expect(io.out()).toMatch(new RegExp(`(--|-l )${option.name}\\b`));
  }
});

const hasShell = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;
for (const shell of ["zsh", "fish"])
  if (!hasShell(shell)) console.info(`${shell} is not installed: its completion is not tried`);

test.runIf(hasShell("fish"))("fish offers checks, commands and profiles", () => {
  const script = path.join(folder, "siteward.fish");
  writeFileSync(script, scriptFor("fish"));
  const offers = (line: string): string[] =>
    execFileSync("fish", ["--no-config", "-c", `source ${script}; complete -C ${JSON.stringify(line)}`], {
      encoding: "utf8",
      cwd: folder,
    })
      .split("\n")
      .map((row) => row.split("\t")[0] ?? "")
      .filter(Boolean)
      .sort();
  expect(offers("siteward doctor --only clock")).toEqual(["clock", "clock.skew", "clock.sync"]);
  expect(offers("siteward doctor --only api,clock.s")).toEqual(["api,clock.skew", "api,clock.sync"]);
  expect(offers("siteward cmd board.c")).toEqual(["board.confirm-dead", "board.cordon"]);
  expect(offers("siteward profile show jetson-orin")).toEqual(["jetson-orin-nano", "jetson-orin-nx"]);
});

/** What zsh makes of these lines when TAB is pressed behind each, in a terminal of its own. */
function zshCompletes(lines: readonly string[]): string[] {
  const [script, made] = [path.join(folder, "siteward.zsh"), path.join(folder, "lines")];
  writeFileSync(script, scriptFor("zsh"));
  const setUp = [
    "autoload -U compinit; compinit -u -D",
    `source ${script}`,
    `note() { print -r -- $BUFFER >> ${made}; BUFFER=; }`,
    "zle -N note; bindkey '^X' note",
  ];
  const driver = [
    "zmodload zsh/zpty; zpty -b shell 'TERM=dumb zsh -f -i'",
    ...setUp.map((line) => `zpty -w shell ${JSON.stringify(line).replaceAll("$", "\\$")}`),
    `zpty -w shell 'touch ${made}'; while [[ ! -e ${made} ]]; do sleep 0.1; done`,
    ...lines.map(
      (line, at) => `zpty -w -n shell $'${line}\\t\\x18'; while (( $(wc -l < ${made}) <= ${at} )); do sleep 0.1; done`,
    ),
    "zpty -d shell",
  ].join("\n");
  execFileSync("zsh", ["-f", "-c", driver], { timeout: 20_000, stdio: "ignore" });
  return readFileSync(made, "utf8").trimEnd().split("\n");
}

test.runIf(hasShell("zsh"))("zsh completes options, checks, commands and profiles", () => {
  expect(
    zshCompletes([
      "siteward doctor --only clock.sy",
      "siteward doctor --offline --only api,clock.sy",
      "siteward status --wait re",
      "siteward config rollback --rea",
      "siteward cmd board.cor",
      "siteward profile show jetson-orin-na",
    ]).map((line) => line.replace(/,? *$/, "")),
  ).toEqual([
    "siteward doctor --only clock.sync",
    "siteward doctor --offline --only api,clock.sync",
    "siteward status --wait ready",
    "siteward config rollback --reason",
    "siteward cmd board.cordon",
    "siteward profile show jetson-orin-nano",
  ]);
});

test("an unknown shell is refused", async () => {
  for (const shell of ["powershell", "toString"]) {
    const io = recordingIo();
    expect(await dispatch(io, ["completion", shell])).toBe(64);
    expect(io.err()).toContain("is not one of bash, zsh, fish");
  }
});

test("the version is printed as text and as JSON", async () => {
  const [person, program] = [recordingIo(), recordingIo()];
  expect(await dispatch(person, ["version"])).toBe(0);
  expect(person.out()).toMatch(/^siteward \d+\.\d+\.\d+ \(Node \d+/);
  expect(await dispatch(program, ["version", "--json"])).toBe(0);
  expect(JSON.parse(program.out())).toMatchObject({
    siteward: expect.stringMatching(/^\d/),
    node: process.versions.node,
  });
});
