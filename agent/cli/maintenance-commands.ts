import { exit } from "../base/exit-codes.ts";
import { type Command, configOption, jsonOption } from "./command.ts";

/** Maintenance commands: enrolment, diagnosis, release. */
export const careCommands: readonly Command[] = [
  {
    name: "enroll",
    summary: "Give this board its credentials: for the site's API server, and perhaps for a fleet.",
    details:
      "Asks at a terminal for what no option says. Everything is checked before anything is written, and a power cut in " +
      "the middle is finished by the next run. Writes /etc/siteward/credentials (mode 600), conf.d/20-enrolled.yaml and, " +
      "with a broker, the unit's drop-in 20-fleet.conf; then runs siteward doctor.",
    options: [
      { name: "kubeconfig", value: "FILE", summary: "A kubeconfig; the files it refers to are embedded." },
      { name: "context", value: "NAME", summary: "Context to use (default: the current one)." },
      { name: "server", value: "URL", summary: "Instead: the API server, such as https://10.0.0.1:6443." },
      { name: "token-file", value: "FILE", summary: "With --server: the file with the token." },
      { name: "ca", value: "FILE", summary: "With --server: the authority that signed its certificate." },
      { name: "site", value: "NAME", summary: "The site's name (default: as it was enrolled or configured before)." },
      { name: "board", value: "NAME", summary: "The board's name (default: as before, or the host's)." },
      { name: "mqtt", value: "URL", summary: "The fleet's broker: mqtts://host:8883." },
      { name: "fleet", value: "NAME", summary: "The fleet's name." },
      { name: "certificate", value: "FILE", summary: "The client certificate for the broker: CN=fleet/site/board." },
      { name: "key", value: "FILE", summary: "Its key." },
      { name: "mqtt-ca", value: "FILE", summary: "The authority that signed the broker's certificate." },
      { name: "root", value: "FOLDER", summary: "Enrol the system below this folder, such as a mounted card." },
      { name: "dry-run", summary: "Check everything, write nothing." },
      { name: "no-doctor", summary: "Do not run siteward doctor at the end." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    examples: [
      "siteward enroll",
      "siteward enroll --kubeconfig plant7.yaml --site plant7",
      "siteward enroll --root /mnt/card --kubeconfig plant7.yaml --site plant7 --board edge-02",
    ],
    load: async () => (await import("./commands/enroll.ts")).run,
  },
  {
    name: "doctor",
    summary: "Find problems of this board, its agent and its links, and say what to do about them.",
    details:
      "Every check prints one line, [ok], [warn], [FAIL] or [skip: why], and under it the next step. Nothing is changed; " +
      "run it as root, or it cannot read the credentials.",
    options: [
      configOption,
      jsonOption,
      { name: "warnings-as-errors", summary: "End with 1 on a warning too." },
      { name: "offline", summary: "Ask neither the API server nor the broker." },
      { name: "only", value: "ID,...", summary: "Only these checks, or groups of them: api, creds.files." },
    ],
    exits: [exit.ok, exit.failed, exit.usage],
    examples: ["siteward doctor", "siteward doctor --only api,clock", "siteward doctor --offline --json"],
    load: async () => (await import("./commands/doctor.ts")).run,
  },
  {
    name: "release",
    summary: "Hand the site back: take siteward's marks off its Nodes, and release its Lease.",
    details:
      "Taints, annotations and conditions go. The agents of all boards must be stopped. No pod is touched and nothing is restarted. A run that was cut off is " +
      "simply run again.",
    options: [
      configOption,
      { name: "dry-run", summary: "Show what would be done, change nothing." },
      { name: "yes", summary: "Do not ask." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission, exit.config],
    load: async () => (await import("./commands/release.ts")).run,
  },
  {
    name: "diag collect",
    summary: "Collect diagnostics for support into one .tar.gz.",
    details:
      "Status, configuration, doctor, log, databases, board and unit. Secrets are taken out of all of it. As root, or the log and the credentials cannot be read.",
    options: [
      configOption,
      { name: "output", short: "o", value: "FILE", summary: "The archive (default: siteward-BOARD-TIME.tar.gz here)." },
      { name: "since", value: "TIME", summary: "How far back the log goes, such as 6h (default: 2d)." },
      { name: "offline", summary: "Ask neither the API server nor the broker." },
    ],
    exits: [exit.ok, exit.failed, exit.usage, exit.permission],
    examples: ["siteward diag collect -o /tmp/edge-02.tar.gz"],
    load: async () => (await import("./commands/diag.ts")).collect,
  },
  {
    name: "journal stats",
    summary: "Show what is in the agent's databases.",
    options: [configOption, jsonOption],
    exits: [exit.ok, exit.failed, exit.permission, exit.config],
    load: async () => (await import("./commands/journal.ts")).stats,
  },
  {
    name: "journal tail",
    summary: "Print the newest changes received but not applied yet.",
    details: "Usually there are none: a change is applied in the transaction that stores it. What waits is a burst.",
    options: [configOption, jsonOption, { name: "lines", short: "n", value: "N", summary: "How many (default: 20)." }],
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
    details: "While the agent runs it does that itself (siteward cmd journal.compact); otherwise this command does.",
    options: [configOption],
    exits: [exit.ok, exit.failed, exit.permission, exit.config],
    load: async () => (await import("./commands/journal.ts")).compact,
  },
];
