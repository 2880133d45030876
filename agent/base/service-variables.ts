/** What the service manager gives to one process alone: any other that has them speaks in the name of the service. */
export const serviceVariables: readonly string[] = [
  "NOTIFY_SOCKET",
  "LISTEN_PID",
  "LISTEN_FDS",
  "LISTEN_FDNAMES",
  "WATCHDOG_PID",
  "WATCHDOG_USEC",
];
