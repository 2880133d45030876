/** Waits for a promise or for the signal to abort, whichever comes first. Leaves no listener on the signal. */
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
