/** Much work in small steps: the event loop may have a turn after each. What it comes to does not depend on that. */
export type Steps<T> = Generator<undefined, T, undefined>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** So many small things are one step. */
const together = 64;

/** True for the last of each step's: the place to yield. */
export const endsStep = (index: number): boolean => index % together === together - 1;

/** As `map`. */
export function* mapped<T, R>(items: readonly T[], of: (item: T) => R): Steps<readonly R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(of(item));
    if (endsStep(index)) yield;
  }
  return results;
}
