import { exit } from "../base/exit-codes.ts";
import { type Command, configOption } from "./command.ts";

export const runCommand: Command = {
  name: "run",
  summary: "Run the agent of this board, until SIGTERM.",
  details:
    "Takes part in the election of the site's leader and, as the leader, looks after the site's boards. " +
    "Drop-in files beside the configuration, conf.d/*.yaml, are read after it. SIGHUP has all of it read again: one " +
    "that cannot be used is refused, and the former one stays.",
  options: [configOption],
  exits: [exit.ok, exit.failed, exit.usage, exit.internal, exit.config],
  load: async () => (await import("../process/run.ts")).run,
};
