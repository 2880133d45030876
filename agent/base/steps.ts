/** Work in small steps: the event loop may get a turn after each. The result does not depend on that. */
export type Steps<T> = Generator<undefined, T, undefined>;

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The number of small items per step. */
const together = 64;

/** True for the last item of each step: the place to yield. */
export const endsStep = (index: number): boolean => index % together === together - 1;

/** Like `map`, in steps. */
export function* mapped<T, R>(items: readonly T[], of: (item: T) => R): Steps<readonly R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(of(item));
    if (endsStep(index)) yield;
  }
  return results;
}

/** Like `map`, in steps; `of` may take several steps for each item. */
export function* mappedBy<T, R>(items: readonly T[], of: (item: T) => Steps<R>): Steps<R[]> {
  const results: R[] = [];
  for (const [index, item] of items.entries()) {
    results.push(yield* of(item));
    if (endsStep(index)) yield;
  }
  return results;
}
