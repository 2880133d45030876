import { parseArgs } from "node:util";
import { type Break, backWithin, breaks, playBreak } from "./breaks.ts";
import { Fleet } from "./fleet.ts";

/**
 * A hundred agents, as one site and as twenty-five, lose their API server together; shows how they reconnect:
 *
 *   node test/scenarios/simulation/herd.ts --seeds 3 --seed 1
 *
 * It fails if more than a tenth of them reconnect within one second, if any does not reconnect, after any harmful act,
 * or if a site has no leader or two leaders.
 */
const { values } = parseArgs({
  options: { seeds: { type: "string", default: "1" }, seed: { type: "string", default: "1" } },
});
const [first, count] = [Number(values.seed), Number(values.seeds)];
const fleets = [
  { sites: 1, boardsPerSite: 100, standby: "cold" },
  { sites: 1, boardsPerSite: 100, standby: "warm" },
  { sites: 25, boardsPerSite: 4, standby: "cold" },
] as const;
const tenth = 10;
const settled = 240_000;

let failed = 0;
for (let seed = first; seed < first + count; seed++) {
  for (const plan of fleets) {
    const fleet = new Fleet({ ...plan, seed });
    fleet.boot();
    await fleet.time.runUntil(settled);
    for (const is of Object.keys(breaks) as Break[]) {
      const { most, tried, returned, last, harm, torn } = await playBreak(fleet, is);
      const isRight = most <= tenth && returned === 100 && last <= backWithin && harm.length === 0 && torn.length === 0;
      if (!isRight) failed++;
      console.log(
        `${isRight ? "  " : "! "}seed ${seed}, ${plan.sites} × ${plan.boardsPerSite} ${plan.standby}, ${is}: ${most} in one second ` +
          `(${tried} tried), the last after ${(last / 1000).toFixed(0)} s, ${harm.length} harmful, ${torn.length} sites torn`,
      );
    }
    fleet.close();
  }
}
process.exit(failed > 0 ? 1 : 0);
