/**
 * Whose requests go first. `boards`: what keeps the judgement of boards going, which no tenant can make more of. `pods`:
 * what becomes of the pods of a board that was judged. `workloads`: what tenants cause by their own objects.
 */
export const lanes = ["boards", "pods", "workloads", "events"] as const;
export type Lane = (typeof lanes)[number];

/** So many of the other lanes go at most while one of this lane waits. Those before keep more than half of all turns. */
const mostPassed: Readonly<Record<Lane, number>> = {
  boards: Number.POSITIVE_INFINITY,
  pods: 3,
  workloads: 7,
  events: 15,
};

/** Waits in lanes: each in its own order, the first lane first, and none for ever. */
export class Lanes {
  readonly #lines = lanes.map((lane) => ({ lane, passed: 0, waiting: new Set<() => void>() }));

  get size(): number {
    return this.#lines.reduce((all, { waiting }) => all + waiting.size, 0);
  }

  /** True: `next` gave it the turn. False: the signal aborted first. */
  wait(lane: Lane, signal: AbortSignal): Promise<boolean> {
    const waiting = this.#lines[lanes.indexOf(lane)]?.waiting;
    if (signal.aborted || waiting === undefined) return Promise.resolve(false);
    return new Promise((resolve) => {
      const leave = (): void => {
        waiting.delete(go);
        resolve(false);
      };
      const go = (): void => {
        waiting.delete(go);
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      signal.addEventListener("abort", leave, { once: true });
      waiting.add(go);
    });
  }

  /** Gives one turn to a lane that may have it, and answers to which. */
  next(may: (lane: Lane) => boolean = () => true): Lane | undefined {
    const able = this.#lines.filter(({ lane, waiting }) => waiting.size > 0 && may(lane));
    const turn = able.find(({ lane, passed }) => passed >= mostPassed[lane]) ?? able[0];
    if (turn === undefined) return undefined;
    for (const line of able) line.passed = line === turn ? 0 : line.passed + 1;
    const [go] = turn.waiting;
    go?.();
    return turn.lane;
  }
}
