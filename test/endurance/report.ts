import { slopeOf, type Verdict, verdictOn } from "../support/patterns/slope.ts";
import type { Held, HeldAt } from "./endurance.ts";

/**
 * The permitted growth per step, less than the smallest possible leak of one per step. A closure or a listener with its entry
 * in a set is 64 bytes of heap; a handle or a statement outside the heap 256 bytes. Descriptors and timers are integers: one
 * in a hundred steps would be a leak on a rare path.
 */
const limits = [
  { what: "heap", name: "heap, bytes", least: 64, unit: 0 },
  { what: "rss", name: "resident, bytes", least: 256, unit: 0 },
  { what: "descriptors", name: "descriptors", least: 0.01, unit: 1 },
  { what: "resources", name: "timers and sockets", least: 0.01, unit: 1 },
  { what: "disk", name: "state folder, bytes", least: 64, unit: 0 },
] as const satisfies readonly {
  readonly what: keyof Held;
  readonly name: string;
  readonly least: number;
  /** The resolution of integer counts. */
  readonly unit: number;
}[];

/** Samples at the beginning are ignored, while caches and databases fill. */
const warmUp = 0.25;

export interface Judged {
  readonly line: string;
  readonly verdict: Verdict;
}

/**
 * One line of the report for each agent and each resource. `slack` is the factor by which limits are wider, at most 25 for
 * integer counts: one in four steps.
 */
export function judge(kind: string, looks: readonly HeldAt[], slack = 1): readonly Judged[] {
  const last = looks.at(-1)?.step ?? 0;
  const settled = looks.filter(({ step }) => step >= warmUp * last);
  const boards = Object.keys(looks[0]?.agents ?? {});
  return boards.flatMap((board) =>
    limits.map(({ what, name, least: limit, unit }) => {
      const least = limit * (unit === 0 ? slack : Math.min(slack, 25));
      const points = settled.map(({ step, agents }) => ({ x: step, y: agents[board]?.[what] ?? Number.NaN }));
      const slope = slopeOf(points, unit);
      const verdict = verdictOn(slope, least);
      const digits = unit === 0 ? 1 : 5;
      const line =
        `${board}: ${name} for each ${kind}: ${slope.perStep.toFixed(digits)} ± ${slope.uncertainty.toFixed(digits)}, ` +
        `must be below ${least}: ${verdict}`;
      return { line, verdict };
    }),
  );
}
