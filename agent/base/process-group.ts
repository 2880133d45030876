/** Kills the process group of a child that was started with `detached: true`, including its descendants. */
export function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The group has already ended.
  }
}
