import { exit } from "../base/exit-codes.ts";
import { type Command, configOption, jsonOption, type Option } from "./command.ts";

/** Options of commands sent to the agent over its socket. */
const commandOptions: readonly Option[] = [
  { name: "dry-run", summary: "Check everything and show what would be done, without doing it." },
  {
    name: "reason",
    value: "TEXT",
    summary: "The reason for log, status and Events; required for commands that change something.",
  },
  { name: "socket", value: "FILE", summary: "The agent's socket (default: /run/siteward/ctl.sock)." },
];

const answersOption: Option = { name: "json", summary: "Print each answer on a line of JSON, for programs." };

export const configRollback: Command = {
  name: "config rollback",
  summary: "Return to the fleet's last good settings.",
  details:
    "Sends the command config.rollback to the agent on this board. The version that is rolled back is not applied again, but the fleet's " +
    "next version is.",
  options: [
    {
      name: "to",
      value: "VERSION",
      summary: "Return to this version instead of the last good one (0: no fleet settings).",
    },
    ...commandOptions,
    answersOption,
  ],
  exits: [exit.ok, exit.failed, exit.usage, exit.unavailable, exit.permission],
  examples: [
    'siteward config rollback --reason "no renewals since version 43"',
    'siteward config rollback --to 41 --reason "CHG-1182" --dry-run',
  ],
  load: async () => (await import("./commands/config-rollback.ts")).rollback,
};

export const whyCommand: Command = {
  name: "why",
  summary: "Explain what was done to, or held back for, a board or a pod, and why.",
  details:
    "Shows this board's own records of harmful acts: boards marked or tainted, pods evicted or deleted. They are kept on the board that led at " +
    "the time. last shows the last act and, on the leader, everything that is held back now. The story of a board ends with its state " +
    "now, if this board follows it. While no agent is running, records are read from the state folder.",
  words: { show: "node/NAME|pod/NAMESPACE/NAME|last", least: 1, most: 1 },
  options: [
    configOption,
    { name: "socket", value: "FILE", summary: "The agent's socket (default: /run/siteward/ctl.sock)." },
    {
      name: "export",
      value: "FILE",
      summary: "Write the newest decision as a case for siteward replay, into a new file.",
    },
    jsonOption,
  ],
  exits: [exit.ok, exit.failed, exit.usage, exit.unavailable, exit.permission, exit.config],
  meanings: { [exit.failed]: "this board has no record of that" },
  examples: [
    "siteward why node/edge-02",
    "siteward why pod/default/web-7d9f4 --json",
    "siteward why last --export case.json",
  ],
  load: async () => (await import("./commands/why/why.ts")).run,
};

export const shadowReportCommand: Command = {
  name: "shadow report",
  summary: "Compare what shadow mode, or policy kubernetes, would have done with what was done.",
  details:
    "From this board's own records, so ask the board that led at the time. Differences come first. In shadow mode, siteward's decisions are compared with what " +
    "other programs did; an act that another program did before siteward decided about it is listed with siteward's verdict on the board at that time. With " +
    "judgement.compare, the decisions of policy kubernetes are compared with what siteward did.",
  options: [
    configOption,
    { name: "socket", value: "FILE", summary: "The agent's socket (default: /run/siteward/ctl.sock)." },
    { name: "since", value: "DURATION", summary: "How far back (default: 24h)." },
    jsonOption,
  ],
  exits: [exit.ok, exit.failed, exit.usage, exit.unavailable, exit.permission, exit.config],
  examples: ["siteward shadow report", "siteward shadow report --since 7d --json"],
  load: async () => (await import("./commands/shadow-report.ts")).report,
};

export const replayCommand: Command = {
  name: "replay",
  summary: "Re-evaluate a recorded decision, and compare the result with the recorded one.",
  details:
    "FILE is a case that siteward why --export wrote, on this board or another. The rules of this program make " +
    "the decision, which is printed as JSON; if the file has no expect, nothing is compared. Needs no agent, and changes nothing.",
  words: { show: "FILE", least: 1, most: 1 },
  options: [],
  exits: [exit.ok, exit.failed, exit.usage],
  meanings: {
    [exit.ok]: "the decision is the recorded one",
    [exit.failed]: "the decision differs from the recorded one",
  },
  examples: ["siteward replay case.json"],
  load: async () => (await import("./commands/replay.ts")).run,
};

/** Commands sent to agents: on this board, or signed for other boards. */
export const operatorCommands: readonly Command[] = [
  {
    name: "cmd",
    summary: "Send a command to the agent on this board, over its socket.",
    details:
      "The commands are the same as those that the fleet sends. A result is printed as JSON; progress is reported on standard error. " +
      "The socket is for root and the agent's group.",
    words: { show: "NAME [JSON]", least: 0, most: 2 },
    options: [
      ...commandOptions,
      { name: "schema", summary: "Print the JSON schema of all commands, or of the one named, and send nothing." },
      answersOption,
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.unavailable, exit.permission],
    meanings: { [exit.failed]: "the board refused the command, or it failed" },
    examples: [
      "siteward cmd ping",
      `siteward cmd eviction.freeze '{"ttl":3600}' --reason "radio maintenance"`,
      "siteward cmd --schema eviction.freeze",
    ],
    load: async () => (await import("./commands/cmd.ts")).run,
  },
  {
    name: "keygen",
    summary: "Create a key pair for an operator to sign commands and settings with.",
    words: { show: "NAME", least: 1, most: 1 },
    options: [{ name: "dir", value: "FOLDER", summary: "Where to write NAME.key and NAME.pub (default: here)." }],
    exits: [exit.ok, exit.failed, exit.usage],
    load: async () => (await import("./commands/keys.ts")).keygen,
  },
  {
    name: "sign",
    summary: "Print the signature of a command or of settings, for the user property sig.",
    details: "Signs the exact bytes of FILE together with the topic. FILE - is standard input.",
    words: { show: "FILE", least: 1, most: 1 },
    options: [
      { name: "key", value: "FILE", summary: "The operator's private key, NAME.key." },
      { name: "topic", value: "TOPIC", summary: "The topic on which the file will be published." },
      { name: "kid", value: "NAME", summary: "The key's name on the boards (default: from the file's name)." },
      { name: "json", summary: "Print kid and sig as JSON." },
    ],
    exits: [exit.ok, exit.failed, exit.usage],
    examples: ["siteward sign --key alice.key --topic sw1/acme/plant7/_site/cmd/eviction.freeze/F1 f1.json"],
    load: async () => (await import("./commands/keys.ts")).sign,
  },
];
