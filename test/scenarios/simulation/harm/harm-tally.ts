import type { Millis } from "../../../../agent/base/clock.ts";
import type { FalseAct, Harm } from "./harm.ts";

const acts: readonly FalseAct["is"][] = ["taint", "evict", "unready"];

/** A summary for people of many schedules' harm. */
export function tallyOf(harms: readonly Harm[]): readonly string[] {
  const withFalseAct = harms.filter(({ falseActs }) => falseActs.length > 0).length;
  const deaths = harms.flatMap((harm) => harm.deaths);
  const tainted = deaths.flatMap(({ taintedAfter }) => taintedAfter ?? []);
  const emptied = deaths.flatMap(({ emptiedAfter }) => emptiedAfter ?? []);
  return [
    `${withFalseAct} of ${harms.length} schedules harm a living board (${percent(withFalseAct, harms.length)})`,
    ...falseActRows(harms),
    `${deaths.length} healthy boards lost power for good`,
    `  tainted                ${tainted.length}${spread(tainted)}`,
    `  limited pods all gone  ${emptied.length}${spread(emptied)}`,
  ];
}

/** The false acts by what was wrong with the board, the most frequent first. A schedule may count in several rows. */
function falseActRows(harms: readonly Harm[]): readonly string[] {
  const all = harms.flatMap(({ falseActs }, schedule) => falseActs.map((act) => ({ ...act, schedule })));
  const groups = Map.groupBy(all, ({ circumstance }) => circumstance as string);
  const own = all.filter((act) => act.own);
  const rows = [...groups].sort(([, a], [, b]) => b.length - a.length);
  return [...rows, ...(own.length > 0 ? [["of all: a leader against its own board", own] as const] : [])].map(
    ([name, found]) => {
      const counts = acts.map((is) => `${is} ${found.filter((act) => act.is === is).length}`);
      return `  ${name.padEnd(42)} ${new Set(found.map(({ schedule }) => schedule)).size} schedules: ${counts.join(", ")}`;
    },
  );
}

const percent = (part: number, whole: number): string => (whole === 0 ? "-" : `${((100 * part) / whole).toFixed(1)} %`);

/** Median, 99th percentile and maximum. */
function spread(times: readonly Millis[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): string => {
    const time = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    return `${Math.round(time / 1000)} s`;
  };
  return sorted.length === 0 ? "" : `; median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`;
}
