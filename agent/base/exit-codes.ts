/** The exit codes of all commands. */
export const exit = {
  ok: 0,
  failed: 1,
  critical: 2,
  notRunning: 3,
  unreadable: 4,
  usage: 64,
  unavailable: 69,
  internal: 70,
  output: 74,
  permission: 77,
  config: 78,
  interrupted: 130,
} as const;

/** One sentence for each exit code of all commands, as printed by `siteward help` and in the man page. */
export const meanings: Readonly<Record<number, string>> = {
  [exit.ok]: "all is well",
  [exit.failed]: "degraded, or the command failed, or a scenario did not end as expected",
  [exit.critical]: "critical: a person must act",
  [exit.notRunning]: "the agent is not running, or its status is stale",
  [exit.unreadable]: "the status cannot be read, or has an unknown schema",
  [exit.usage]: "the command line, or a file that it names, is invalid",
  [exit.unavailable]: "the agent does not answer at its socket",
  [exit.internal]: "an internal error",
  [exit.output]: "the output cannot be written, for example to a full disk",
  [exit.permission]: "this user lacks the permission",
  [exit.config]: "the configuration cannot be used; systemd does not restart the agent",
  [exit.interrupted]: "interrupted before the command had ended",
};

/** The meanings of exit codes for most commands, where they are narrower than in `meanings`. */
const usualMeanings: Readonly<Record<number, string>> = {
  [exit.ok]: "the command succeeded",
  [exit.failed]: "the command failed",
  [exit.config]: "the configuration cannot be used",
};

/** The meaning of an exit code for a command. `own`: the meanings that only this command has. */
export const meaningFor = (code: number, own: Readonly<Record<number, string>> = {}): string =>
  own[code] ?? usualMeanings[code] ?? meanings[code] ?? "";
