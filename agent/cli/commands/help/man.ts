import { exit, meanings } from "../../../base/exit-codes.ts";
import type { Run } from "../../../base/io.ts";
import { commands as orders } from "../../../commands/desk/definitions/registry.ts";
import { version } from "../../../process/version.ts";
import { type Command, type CommandTable, helpOption } from "../../command.ts";
import { synopsis } from "./help.ts";

export const man =
  (table: CommandTable): Run =>
  async (io) => {
    io.stdout.write(manPage(table));
    return exit.ok;
  };

/** Generates siteward(8) in roff from the table of commands. */
export function manPage({ commands }: CommandTable): string {
  return `${[
    `.TH SITEWARD 8 "" "siteward ${version}" "System administration"`,
    ".SH NAME",
    "siteward \\- looks after the boards of a Kubernetes edge site",
    ".SH SYNOPSIS",
    ".B siteward",
    "\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
    ".SH DESCRIPTION",
    plain(
      "One small agent runs on every board. The agents of a site elect a leader. The leader decides which boards are",
    ),
    plain("lost, and evicts their pods slowly. It does not mistake a broken link to the API server for dead boards."),
    ".SH COMMANDS",
    ...commands.flatMap(commandPart),
    ".SH FILES",
    ...entry("/etc/siteward/siteward.yaml", "The configuration; siteward config example prints one."),
    ...entry("/etc/siteward/conf.d/*.yaml", "Drop-in files, read after the configuration in order of their names."),
    ...entry(
      "/etc/siteward/profiles.d/*.json",
      "The board's own firmware profiles; each replaces the shipped profile with the same id.",
    ),
    ...entry("/usr/lib/siteward/profiles.d/*.json", "The firmware profiles that siteward ships."),
    ...entry("/etc/siteward/credentials", "Credentials for the API server and the fleet, written by siteward enroll."),
    ...entry(
      "/etc/siteward/trust.d/*.pub",
      "Trusted public keys. As soon as there is one, commands that change something must be signed.",
    ),
    ...entry("/var/lib/siteward", "state.db, which must survive, and cache.db, which may be deleted."),
    ...entry("/run/siteward/status.json", "The health of the agent and the site, for siteward status and monitoring."),
    ".SH EXIT STATUS",
    ...Object.entries(meanings).flatMap(([code, meaning]) => entry(code, meaning)),
    ".SH ENVIRONMENT",
    ...entry("SITEWARD_...", "Any setting; SITEWARD_LOG_LEVEL sets log.level."),
    ...entry("KUBECONFIG, HTTPS_PROXY, NO_PROXY", "Used as by kubectl."),
    ...entry("NO_COLOR", "If set, no colours are printed."),
  ].join("\n")}\n`;
}

function commandPart({ name, summary, details, words, options, examples }: Command): string[] {
  return [
    `.SS "siteward ${plain(name)}${words ? ` ${plain(words.show)}` : ""}"`,
    plain(summary),
    ...(details ? [".PP", plain(details)] : []),
    ...[...options, helpOption].flatMap((option) => entry(synopsis(option), option.summary)),
    ...(name === "cmd"
      ? [".PP", "Commands:", ...[...orders.values()].flatMap((one) => entry(one.name, one.sentence))]
      : []),
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
