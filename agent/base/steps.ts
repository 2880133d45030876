/**
 * Long synchronous work that yields after each small step, so that its caller can let the event loop run in between.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps without a break. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const itemsPerStep = 64;

/** True if a loop over small items should yield after the item at this index. */
export const endsStep = (index: number): boolean => index % itemsPerStep === itemsPerStep - 1;

/** `Array.map` in steps. */
export function* mapInSteps<T, R>(items: readonly T[], of: (item: T) => R): Steps<readonly R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(of(item));
    if (endsStep(index)) yield;
  }
  return results;
}

/** `Array.map` in steps; `of` may itself take several steps per item. */
export function* mapEachInSteps<T, R>(items: readonly T[], of: (item: T) => Steps<R>): Steps<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(yield* of(item));
    if (endsStep(index)) yield;
  }
  return results;
}
