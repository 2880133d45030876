import { isOfOneObject } from "../errors.ts";

/** Maximum number of requests in flight at the same time. */
const concurrency = 8;

/**
 * Sends a request for each item, eight at a time. If a failure concerns only one object, its item is skipped; after any
 * other failure, no more requests are started. Never throws: the caller's next pass requests the remaining items, and
 * the control loop and the connection's own loops report the failures.
 */
export async function forEachConcurrently<T>(items: readonly T[], ask: (item: T) => Promise<void>): Promise<void> {
  const open = items.values();
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (const item of open) {
      if (hasFailed) return;
      try {
        await ask(item);
      } catch (error) {
        hasFailed ||= !isOfOneObject(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
}
