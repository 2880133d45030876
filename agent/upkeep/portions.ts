import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Millis, sleep } from "../base/clock.ts";

/** Work in portions: `next(n)` does n units of work. */
export type Portions = Generator<unknown, void, number>;

/** Upper bound of a portion's duration, so that other work on the thread is not delayed. */
const wanted: Millis = 10;
/** Pause between two portions. */
const pause: Millis = 50;
/** Bounds of a portion's size, in units. */
const [fewest, most] = [4, 512];

/** Does the work in portions, whose size is adapted to their duration. Returns the duration of the longest portion. */
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
