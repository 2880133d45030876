import { slopeOf, type Verdict, verdictOn } from "../support/slope.ts";
import type { Held, HeldAt } from "./endurance.ts";

/**
 * What each step may leave behind: less than the smallest thing that code can forget once in a step. A closure or a listener
 * and its place in a set are 64 bytes of heap; a handle or a statement outside of it 256 bytes. A descriptor or a timer is
 * whole: one in a hundred steps would be a path that few of them take.
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
  /** Where it is counted in whole ones, no line says more than that. */
  readonly unit: number;
}[];

/** Caches and databases fill first. */
const warmUp = 0.25;

export interface Judged {
  readonly line: string;
  readonly verdict: Verdict;
}

/**
 * A line of the report for each agent and each thing that it holds. `slack`: by how much the limits are wider, those of whole
 * things by 25 at most: one in four steps.
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
