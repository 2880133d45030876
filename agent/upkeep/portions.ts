import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Millis, sleep } from "../base/clock.ts";

/** Work in portions: `next(n)` does n units of it. */
export type Portions = Generator<unknown, void, number>;

/** Target duration of a portion, short enough not to delay other work on the thread. */
const wanted: Millis = 10;
const pause: Millis = 50;
const [fewest, most] = [4, 512];

/** Runs the portions with pauses, adapting their size to their duration. Returns the duration of the longest. */
export async function inPortions({ clock }: Ambient, work: Portions, signal: AbortSignal): Promise<Millis> {
  let size = fewest;
  let longest = 0;
  work.next(size);
  while (!signal.aborted) {
    const begun = clock.now();
    const { done } = work.next(size);
    const took = elapsed(begun, clock.now());
    longest = Math.max(longest, took);
    if (done) break;
    if (took > wanted) size = Math.max(fewest, Math.floor(size / 2));
    else if (took < wanted / 2) size = Math.min(most, size * 2);
    await sleep(clock, pause, signal);
  }
  return longest;
}
