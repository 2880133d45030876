/** Waits for a promise that never rejects, but no longer than until the signal aborts. Leaves no listener behind. */
export async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  const end = (): void => aborted.resolve();
  signal.addEventListener("abort", end, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
