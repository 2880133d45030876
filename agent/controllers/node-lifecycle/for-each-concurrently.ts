/** Requests in flight at the same time. */
const lanes = 8;

/**
 * Asks the API about each item, a few at a time, and stops after the first request that fails: the next pass asks about
 * the rest. Errors are not reported here; the loops of the link report why the API does not answer.
 */
export async function forEachConcurrently<T>(items: readonly T[], ask: (item: T) => Promise<void>): Promise<void> {
  const open = items.values();
  let unanswered = false;
  const lane = async (): Promise<void> => {
    for (const item of open) {
      if (unanswered) return;
      try {
        await ask(item);
      } catch {
        unanswered = true;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, items.length) }, lane));
}
