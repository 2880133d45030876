import { exit } from "../base/exit-codes.ts";
import { type Command, configOption, jsonOption } from "./command.ts";

/** Maintenance commands: enrolment, diagnosis, release. */
export const maintenanceCommands: readonly Command[] = [
  {
    name: "enroll",
    summary: "Install this board's credentials for the site's API server and, optionally, for a fleet.",
    details:
      "Prompts at a terminal if neither --kubeconfig nor --server is given. Checks everything before writing anything; if " +
      "a power cut interrupts it, the next run finishes. Writes /etc/siteward/credentials (mode 600), " +
      "conf.d/20-enrolled.yaml and, with a broker, the unit's drop-in 20-fleet.conf; then runs siteward doctor.",
    options: [
      { name: "kubeconfig", value: "FILE", summary: "A kubeconfig; the files it refers to are embedded." },
      { name: "context", value: "NAME", summary: "Context to use (default: the current one)." },
      {
        name: "server",
        value: "URL",
        summary: "URL of the API server, such as https://10.0.0.1:6443; replaces --kubeconfig.",
      },
      { name: "token-file", value: "FILE", summary: "With --server: the file with the token." },
      { name: "ca", value: "FILE", summary: "With --server: the authority that signed its certificate." },
      { name: "site", value: "NAME", summary: "The site's name (default: as enrolled or configured before)." },
      { name: "board", value: "NAME", summary: "The board's name (default: as before, or the host's name)." },
      { name: "mqtt", value: "URL", summary: "The fleet's broker: mqtts://host:8883." },
      { name: "fleet", value: "NAME", summary: "The fleet's name." },
      { name: "certificate", value: "FILE", summary: "The client certificate for the broker: CN=fleet/site/board." },
      { name: "key", value: "FILE", summary: "The private key of the client certificate." },
      { name: "mqtt-ca", value: "FILE", summary: "The authority that signed the broker's certificate." },
      { name: "root", value: "FOLDER", summary: "Enrol the system below this folder, such as a mounted card." },
      { name: "dry-run", summary: "Check everything, write nothing." },
      { name: "no-doctor", summary: "Do not run siteward doctor at the end." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    meanings: { [exit.failed]: "the enrolment failed, or a check of siteward doctor after it" },
    examples: [
      "siteward enroll",
      "siteward enroll --kubeconfig plant7.yaml --site plant7",
      "siteward enroll --root /mnt/card --kubeconfig plant7.yaml --site plant7 --board edge-02",
    ],
    load: async () => (await import("./commands/enroll.ts")).run,
  },
  {
    name: "doctor",
    summary: "Find problems of this board, its agent and its connections, with their remedies.",
    details:
      "Every check prints one line with [ok], [warn], [FAIL] or [skip], followed by the next step. Changes nothing. " +
      "Run it as root, because only root can read the credentials.",
    options: [
      configOption,
      jsonOption,
      { name: "warnings-as-errors", summary: "Also exit with code 1 if there are warnings." },
      { name: "offline", summary: "Contact neither the API server nor the broker." },
      { name: "only", value: "ID,...", summary: "Run only these checks or groups of checks, such as api,creds.files." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.interrupted],
    meanings: { [exit.ok]: "no check failed", [exit.failed]: "a check failed" },
    examples: ["siteward doctor", "siteward doctor --only api,clock", "siteward doctor --offline --json"],
    load: async () => (await import("./commands/doctor.ts")).run,
  },
  {
    name: "release",
    summary: "Hand the site back: remove everything that siteward wrote to its Nodes, and release its Lease.",
    details:
      "Removes taints, annotations and conditions. Stop the agents of all boards first. No pod is touched and nothing is " +
      "restarted. After an interruption, run the command again.",
    options: [
      configOption,
      { name: "dry-run", summary: "Show what would be done, change nothing." },
      { name: "yes", summary: "Do not ask for confirmation." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    load: async () => (await import("./commands/release.ts")).run,
  },
  {
    name: "diag collect",
    summary: "Collect diagnostics for support into one .tar.gz.",
    details:
      "The archive has the status, the configuration, the doctor's findings, the log, statistics of the databases, the board " +
      "and the unit. Secrets are removed. Run it as root, because only root can read the log and the credentials.",
    options: [
      configOption,
      {
        name: "output",
        short: "o",
        value: "FILE",
        summary: "The archive, a new file (default: siteward-BOARD-TIME.tar.gz here).",
      },
      { name: "since", value: "TIME", summary: "How far back to include the log, such as 6h (default: 2d)." },
      { name: "offline", summary: "Contact neither the API server nor the broker." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission],
    examples: ["siteward diag collect -o /tmp/edge-02.tar.gz"],
    load: async () => (await import("./commands/diag.ts")).collect,
  },
  {
    name: "journal stats",
    summary: "Show the size and the tables of the agent's databases.",
    options: [configOption, jsonOption],
    exits: [exit.ok, exit.failed, exit.permission, exit.config],
    load: async () => (await import("./commands/journal.ts")).stats,
  },
  {
    name: "journal tail",
    summary: "Print the newest changes received but not applied yet.",
    details: "Usually there are none, because changes are stored before they are applied only during a burst.",
    options: [
      configOption,
      jsonOption,
      { name: "lines", short: "n", value: "N", summary: "Maximum number of changes to print (default: 20)." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    load: async () => (await import("./commands/journal.ts")).tail,
  },
  {
    name: "journal verify",
    summary: "Read the databases from end to end and report whether they are intact.",
    options: [configOption],
    exits: [exit.ok, exit.failed, exit.permission, exit.config],
    load: async () => (await import("./commands/journal.ts")).verify,
  },
  {
    name: "journal compact",
    summary: "Rewrite the databases without their free space.",
    details: "If the agent is running, the command is passed to it (siteward cmd journal.compact).",
    options: [configOption],
    exits: [exit.ok, exit.failed, exit.permission, exit.config],
    load: async () => (await import("./commands/journal.ts")).compact,
  },
];
