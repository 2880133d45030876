import { runSchedule } from "./run-schedule.ts";
import type { Schedule } from "./schedule.ts";

/** The same schedule without the faults that its failure does not need. Each is tried to be left out, until none can be. */
export async function shrunk(schedule: Schedule): Promise<Schedule> {
  let least = schedule;
  for (let at = 0; at < least.faults.length; ) {
    const without = { ...least, faults: least.faults.filter((_, index) => index !== at) };
    const { violations } = await runSchedule(without);
    if (violations.length > 0) least = without;
    else at++;
  }
  return least;
}
