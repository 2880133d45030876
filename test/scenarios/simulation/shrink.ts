import { runSchedule } from "./run-schedule.ts";
import type { Schedule } from "./schedule.ts";

/**
 * The same schedule without the faults that its failure does not need. Removes faults one by one until none can be removed
 * without losing the failure. A different failure does not count.
 */
export async function shrunk(schedule: Schedule, violations: readonly string[]): Promise<Schedule> {
  const checks = new Set(violations.map(checkOf));
  let least = schedule;
  for (let at = 0; at < least.faults.length; ) {
    const without = { ...least, faults: least.faults.filter((_, index) => index !== at) };
    const outcome = await runSchedule(without);
    if (outcome.violations.some((violation) => checks.has(checkOf(violation)))) least = without;
    else at++;
  }
  return least;
}

/** "terms", "budget", …: the first word of a violation. */
const checkOf = (violation: string): string => violation.split(/[: ]/)[0] ?? "";
