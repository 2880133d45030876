/**
 * The priority of requests. `boards`: requests that the judgement of boards needs; no tenant can cause more of them.
 * `pods`: actions on the pods of judged boards. `workloads`: requests that tenants cause by their own objects.
 * `events`: records of Events.
 */
export const lanes = ["boards", "pods", "workloads", "events"] as const;
export type Lane = (typeof lanes)[number];

/**
 * How many turns of other lanes a waiting lane lets pass at most. The lanes before it keep more than half of all turns.
 */
const mostPassed: Readonly<Record<Lane, number>> = {
  boards: Number.POSITIVE_INFINITY,
  pods: 3,
  workloads: 7,
  events: 15,
};

/** Waiting lines by lane: each is in order, the first lane goes first, and none starves. */
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

  /** Gives one turn to a permitted lane and returns that lane. */
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
