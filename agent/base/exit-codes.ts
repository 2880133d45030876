/** The exit codes of all commands; `siteward help` and the man page print the sentences. */
export const exit = {
  ok: 0,
  failed: 1,
  critical: 2,
  notRunning: 3,
  unreadable: 4,
  usage: 64,
  unavailable: 69,
  internal: 70,
  permission: 77,
  config: 78,
} as const;

export const meanings: Readonly<Record<number, string>> = {
  [exit.ok]: "all is well",
  [exit.failed]: "degraded, or the command failed, or a case came out differently",
  [exit.critical]: "critical: somebody must act",
  [exit.notRunning]: "the agent is not running, or its status is stale",
  [exit.unreadable]: "the status cannot be read, or is of an unknown schema",
  [exit.usage]: "the command line is wrong, or a file that it names",
  [exit.unavailable]: "the agent does not answer at its socket",
  [exit.internal]: "an error of the program itself",
  [exit.permission]: "this user may not do it",
  [exit.config]: "the configuration cannot be used; systemd does not restart the agent then",
};
