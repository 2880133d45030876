/**
 * Environment variables that systemd sets for the service's main process. They are removed for child processes, which
 * could otherwise send messages to systemd in the service's name.
 */
export const serviceVariables: readonly string[] = [
  "NOTIFY_SOCKET",
  "LISTEN_PID",
  "LISTEN_FDS",
  "LISTEN_FDNAMES",
  "WATCHDOG_PID",
  "WATCHDOG_USEC",
];
