import { exit } from "../base/exit-codes.ts";
import { type Command, configOption } from "./command.ts";

export const runCommand: Command = {
  name: "run",
  summary: "Run the agent of this board, until SIGTERM.",
  details:
    "Takes part in the election of the site's leader and, as the leader, manages the site's boards. " +
    "Drop-in files next to the configuration, conf.d/*.yaml, are read after it. On SIGHUP, the agent reads the " +
    "configuration again; if it is invalid, or conflicts with the fleet's settings, the previous one stays in force.",
  options: [configOption],
  exits: [exit.ok, exit.failed, exit.usage, exit.internal, exit.config],
  meanings: {
    [exit.ok]: "stopped as asked",
    [exit.config]: "the configuration cannot be used; systemd does not restart the agent",
  },
  load: async () => (await import("../process/run.ts")).run,
};
