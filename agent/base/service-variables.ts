/**
 * Variables that the service manager gives to one process alone: any other that has them could speak for the service.
 */
export const serviceVariables: readonly string[] = [
  "NOTIFY_SOCKET",
  "LISTEN_PID",
  "LISTEN_FDS",
  "LISTEN_FDNAMES",
  "WATCHDOG_PID",
  "WATCHDOG_USEC",
];
