import { exit } from "../base/exit-codes.ts";
import { type Command, type CommandTable, configOption, jsonOption } from "./command.ts";
import { maintenanceCommands } from "./maintenance-commands.ts";
import {
  configRollback,
  operatorCommands,
  replayCommand,
  shadowReportCommand,
  whyCommand,
} from "./operator-commands.ts";
import { runCommand } from "./run-command.ts";

/** Names of the shipped scenarios; the scenarios are loaded on demand. */
const scenarioNames = ["board-outage", "zone-outage", "leader-loss", "flapping-link", "api-restart", "rolling-update"];

export const commands: readonly Command[] = [
  runCommand,
  {
    name: "up",
    summary: "Run a whole simulated site on this machine, with real agents, to try siteward.",
    details:
      "Starts an embedded API server on a loopback port, simulated boards, and one agent process per board. " +
      "It also writes a kubeconfig for kubectl. The embedded API server is not for production.",
    options: [
      { name: "boards", value: "N", summary: "Number of boards (default: 3)." },
      { name: "zones", value: "N", summary: "Number of zones to spread them over (default: 2)." },
      {
        name: "scenario",
        value: "NAME|FILE",
        known: scenarioNames,
        summary: `Play a scenario: a file, or ${scenarioNames.join(", ")}.`,
      },
      { name: "for", value: "TIME", summary: "Stop after this time, such as 5m (default: until Ctrl-C)." },
      { name: "port", value: "PORT", summary: "The port of the embedded API server (default: 6440)." },
      { name: "dir", value: "FOLDER", summary: "The folder for the site's files (default: a temporary folder)." },
      { name: "kubeconfig", value: "FILE", summary: "Where to write the kubeconfig (default: in the site's folder)." },
      { name: "keep", summary: "Do not delete the temporary folder at the end." },
      { name: "plain", summary: "Print plain lines instead of a live table, even on a terminal." },
    ],
    exits: [exit.ok, exit.failed, exit.usage],
    meanings: { [exit.failed]: "the site could not be run, or the scenario did not end as expected" },
    examples: ["siteward up", "siteward up --boards 5 --scenario zone-outage", "siteward up --for 5m --plain"],
    load: async () => (await import("./commands/up/up.ts")).run,
  },
  {
    name: "status",
    summary: "Show the health of this board's agent and its site.",
    details:
      "Reads the agent's status file, so it works even if the agent hangs or is not running. " +
      "Problems come first, each with the next step.",
    options: [
      { ...jsonOption, summary: "Print the status file with its age, for programs." },
      { name: "short", summary: "Print one line." },
      { name: "watch", value: "SECONDS", bare: "2", summary: "Print again at this interval (default: 2)." },
      { name: "wait", value: "STATE", choices: ["ready"], summary: "Wait until the agent is ready, then print." },
      { name: "timeout", value: "TIME", summary: "How long --wait waits, such as 60 or 2m (default: 60)." },
      { name: "file", value: "FILE", summary: "The status file (default: /run/siteward/status.json)." },
    ],
    exits: [exit.ok, exit.failed, exit.critical, exit.notRunning, exit.unreadable, exit.usage],
    meanings: { [exit.ok]: "all is well", [exit.failed]: "degraded, or the agent was not ready in time" },
    examples: ["siteward status --wait ready --timeout 2m", "siteward status --json"],
    load: async () => (await import("./commands/status/status.ts")).run,
  },
  whyCommand,
  shadowReportCommand,
  replayCommand,
  {
    name: "config show",
    summary: "Print the configuration that is in force.",
    options: [configOption, { name: "origin", summary: "Show where each value comes from." }, jsonOption],
    exits: [exit.ok, exit.config],
    load: async () => (await import("./commands/config.ts")).show,
  },
  {
    name: "config check",
    summary: "Check a configuration file and report every problem.",
    details: "For a file of this board, also checks that it is compatible with the fleet's settings stored here.",
    words: { show: "FILE", least: 1, most: 1 },
    options: [],
    exits: [exit.ok, exit.config],
    load: async () => (await import("./commands/config.ts")).check,
  },
  configRollback,
  {
    name: "config explain",
    summary: "Explain a setting or a section: value, origin, bounds.",
    words: { show: "SETTING", least: 1, most: 1 },
    options: [configOption],
    exits: [exit.ok, exit.usage, exit.config],
    examples: ["siteward config explain nodeLifecycle.gracePeriod"],
    load: async () => (await import("./commands/config.ts")).explain,
  },
  {
    name: "config reference",
    summary: "Print the reference of all settings as Markdown.",
    options: [],
    exits: [exit.ok],
    load: async () => (await import("./commands/config.ts")).reference,
  },
  {
    name: "config schema",
    summary: "Print the JSON schema of the configuration file, for editors.",
    options: [{ name: "profile", summary: "Print the schema of firmware profiles instead." }],
    exits: [exit.ok],
    load: async () => (await import("./commands/config.ts")).schema,
  },
  {
    name: "config example",
    summary: "Print an example file: every setting at its default, with its description.",
    options: [],
    exits: [exit.ok],
    examples: ["siteward config example > /etc/siteward/siteward.yaml"],
    load: async () => (await import("./commands/config.ts")).example,
  },
  {
    name: "harden",
    summary: "Tighten this board's service: no compiled code, and network traffic only to the hosts it needs.",
    details:
      "Prints a drop-in for siteward.service with the addresses of the API server, the proxy, the broker, the name " +
      "servers and the board's own networks, as they are now.",
    options: [configOption, { name: "write", summary: "Write it to /etc/systemd/system/siteward.service.d." }],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    examples: ["siteward harden", "siteward harden --write && systemctl daemon-reload && systemctl restart siteward"],
    load: async () => (await import("./commands/harden.ts")).run,
  },
  {
    name: "profile list",
    summary: "List the firmware profiles and mark the one that fits this board.",
    details:
      "Profiles in /etc/siteward/profiles.d are the board's own, and replace shipped profiles with the same id. Invalid " +
      "profiles are reported and ignored; the exit code is then 78.",
    options: [jsonOption],
    exits: [exit.ok, exit.config],
    load: async () => (await import("./commands/profile.ts")).list,
  },
  {
    name: "profile detect",
    summary: "Show this board's model and the profile that fits it.",
    options: [jsonOption],
    exits: [exit.ok, exit.config],
    load: async () => (await import("./commands/profile.ts")).detect,
  },
  {
    name: "profile show",
    summary: "Print a firmware profile: this board's, or the one with this id.",
    words: { show: "[ID]", least: 0, most: 1 },
    options: [],
    exits: [exit.ok, exit.failed, exit.usage, exit.config],
    load: async () => (await import("./commands/profile.ts")).show,
  },
  {
    name: "profile apply",
    summary: "Apply the board profile's memory limits and V8 flags to the service.",
    details:
      "Writes /etc/systemd/system/siteward.service.d/10-profile.conf, because systemd needs these values before the program " +
      "starts. The package runs this command when it is installed. Run it again after moving the card to another board.",
    words: { show: "[ID]", least: 0, most: 1 },
    options: [{ name: "print", summary: "Print the file instead of writing it." }],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    examples: ["siteward profile apply", "siteward profile apply --print raspberry-pi-5"],
    load: async () => (await import("./commands/profile.ts")).apply,
  },
  {
    name: "broker-acl",
    summary: "Print the access rules of a fleet's MQTT broker.",
    details:
      "The rules permit each board its own topics, by the name in its certificate, and the topics of its site. A single " +
      "pattern covers the boards' own topics; the topics of a site need lines for each board, so list all boards. " +
      "Operators may read and write all topics of the fleet.",
    words: { show: "SITE/BOARD,BOARD...", least: 1, most: 10_000 },
    options: [
      { name: "fleet", value: "NAME", summary: "The fleet's name." },
      {
        name: "format",
        value: "FORMAT",
        known: ["mosquitto", "emqx"],
        summary: "mosquitto (an acl_file, the default) or emqx (an acl.conf).",
      },
      { name: "operators", value: "NAMES", summary: "User names of the fleet's operators, separated by commas." },
    ],
    exits: [exit.ok, exit.usage],
    examples: ["siteward broker-acl --fleet acme --operators ops plant7/edge-01,edge-02 > /etc/mosquitto/acl"],
    load: async () => (await import("./commands/broker-acl.ts")).run,
  },
  {
    name: "inventory",
    summary: "Show this board's hardware: system, processor, memory, disks.",
    options: [jsonOption],
    exits: [exit.ok, exit.internal],
    load: async () => (await import("./commands/inventory.ts")).run,
  },
  ...operatorCommands,
  ...maintenanceCommands,
  {
    name: "version",
    summary: "Print the version.",
    options: [{ ...jsonOption, summary: "Print JSON, with the versions of Node and the platform." }],
    exits: [exit.ok],
    load: async () => (await import("../process/version.ts")).run,
  },
  {
    name: "completion",
    summary: "Print a completion script for a shell.",
    words: { show: "bash|zsh|fish", least: 1, most: 1 },
    options: [],
    exits: [exit.ok, exit.usage],
    examples: ["siteward completion bash > /etc/bash_completion.d/siteward"],
    load: async () => (await import("./commands/help/completion.ts")).completion(commandTable),
  },
  {
    name: "man",
    summary: "Print the man page.",
    options: [],
    exits: [exit.ok],
    examples: ["siteward man | man -l -"],
    load: async () => (await import("./commands/help/man.ts")).man(commandTable),
  },
  {
    name: "help",
    summary: "Print the help of the program or of a command.",
    words: { show: "[COMMAND]", least: 0, most: 2 },
    options: [],
    exits: [exit.ok, exit.usage],
    load: async () => (await import("./commands/help/help.ts")).help(commandTable),
  },
];

const groups: Readonly<Record<string, string>> = {
  config: "Show, check and explain the configuration.",
  diag: "Collect diagnostics for support.",
  journal: "Inspect and compact the agent's databases.",
  shadow: "Compare shadow mode with what was really done.",
  profile: "Show and apply the firmware profile of this board.",
};

export const commandTable: CommandTable = { commands, groups };
