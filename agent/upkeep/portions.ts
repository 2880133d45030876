import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Millis, sleep } from "../base/clock.ts";

/** Work in portions: `next(n)` does n of it. */
export type Portions = Generator<unknown, void, number>;

/** A portion should take so long: nobody who waits for the one thread notices. */
const wanted: Millis = 10;
const pause: Millis = 50;
const [fewest, most] = [4, 512];

/** Portions one after the other, with pauses, each as large as the last ones let it be. Answers the time the longest took. */
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
