/** Questions under way at the same time. */
const lanes = 8;

/**
 * Asks the API about each item, a few at a time. Once one question stays unanswered the others are not asked: what is not
 * known in this pass is left for the next one, and why the API does not answer is for the link's own loops to tell.
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
