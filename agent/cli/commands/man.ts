import { exit, meanings } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { version } from "../../process/version.ts";
import { type Command, helpOption } from "../command.ts";
import { commands } from "../commands.ts";
import { synopsis } from "./help.ts";

export async function run(io: Io, _args: Args): Promise<number> {
  io.stdout.write(manPage());
  return exit.ok;
}

/** Generates siteward(8) in roff from the table of commands. */
export function manPage(): string {
  return `${[
    `.TH SITEWARD 8 "" "siteward ${version}" "System administration"`,
    ".SH NAME",
    "siteward \\- looks after the boards of a Kubernetes edge site",
    ".SH SYNOPSIS",
    ".B siteward",
    "\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
    ".SH DESCRIPTION",
    plain(
      "One small agent on every board. The agents of a site elect a leader; the leader judges the boards and gives",
    ),
    plain("up the pods of those that are lost, slowly and only when it can tell a dead board from a cut link."),
    ".SH COMMANDS",
    ...commands.flatMap(commandPart),
    ".SH FILES",
    ...entry("/etc/siteward/siteward.yaml", "The configuration; siteward config example prints one."),
    ...entry("/etc/siteward/conf.d/*.yaml", "Drop-in files, read after it in the order of their names."),
    ...entry(
      "/etc/siteward/profiles.d/*.json",
      "Firmware profiles of this board's own: a whole one replaces the shipped one of the same id.",
    ),
    ...entry("/usr/lib/siteward/profiles.d/*.json", "The firmware profiles that siteward ships."),
    ...entry("/etc/siteward/credentials", "What siteward enroll wrote: for the API server, and for a fleet."),
    ...entry("/etc/siteward/trust.d/*.pub", "Public keys by which commands must be signed, once there is one."),
    ...entry("/var/lib/siteward", "state.db, which must survive, and cache.db, which may be deleted."),
    ...entry("/run/siteward/status.json", "How the agent and the site are, for people and for monitoring."),
    ".SH EXIT STATUS",
    ...Object.entries(meanings).flatMap(([code, meaning]) => entry(code, meaning)),
    ".SH ENVIRONMENT",
    ...entry("SITEWARD_...", "Every setting: SITEWARD_LOG_LEVEL is log.level."),
    ...entry("KUBECONFIG, HTTPS_PROXY, NO_PROXY", "As for kubectl."),
    ...entry("NO_COLOR", "If set, no colours are printed."),
  ].join("\n")}\n`;
}

function commandPart({ name, summary, details, words, options, examples }: Command): string[] {
  return [
    `.SS "siteward ${plain(name)}${words ? ` ${plain(words.show)}` : ""}"`,
    plain(summary),
    ...(details ? [".PP", plain(details)] : []),
    ...[...options, helpOption].flatMap((option) => entry(synopsis(option), option.summary)),
    ...(examples ? [".PP", "Examples:", ".nf", ...examples.map((example) => `    ${plain(example)}`), ".fi"] : []),
  ];
}

const entry = (term: string, sentence: string): string[] => [".TP", `\\fB${plain(term)}\\fR`, plain(sentence)];

/** Escapes text for roff: backslashes, dashes, and a leading dot or quote. */
const plain = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1");
