/**
 * Classes of requests, most important first. `boards`: needed to judge boards; tenants cannot cause more of them.
 * `pods`: actions on the pods of judged boards. `workloads`: caused by objects of tenants. `events`: records of Events.
 */
export const lanes = ["boards", "pods", "workloads", "events"] as const;
export type Lane = (typeof lanes)[number];

/**
 * Number of times a waiting lane may be passed over before it gets a turn. Together, the three lanes with a finite
 * number get less than half of all turns.
 */
const maxPassed: Readonly<Record<Lane, number>> = {
  boards: Number.POSITIVE_INFINITY,
  pods: 3,
  workloads: 7,
  events: 15,
};

/**
 * Callers that wait for a turn. The first lane takes precedence, no lane starves, and callers of a lane keep their
 * order.
 */
export class Lanes {
  readonly #lines = lanes.map((lane) => ({ lane, passed: 0, waiting: new Set<() => void>() }));

  get size(): number {
    return this.#lines.reduce((all, { waiting }) => all + waiting.size, 0);
  }

  /** Resolves to true when `next` gives this caller a turn, or to false if the signal aborts first. */
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

  /** Gives one turn to a caller of a permitted lane. Returns that lane; undefined if no such caller is waiting. */
  next(may: (lane: Lane) => boolean = () => true): Lane | undefined {
    const able = this.#lines.filter(({ lane, waiting }) => waiting.size > 0 && may(lane));
    const turn = able.find(({ lane, passed }) => passed >= maxPassed[lane]) ?? able[0];
    if (turn === undefined) return undefined;
    for (const line of able) line.passed = line === turn ? 0 : line.passed + 1;
    const [go] = turn.waiting;
    go?.();
    return turn.lane;
  }
}
