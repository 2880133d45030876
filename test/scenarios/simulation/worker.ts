import { SeededRandom } from "../../support/seeded-random.ts";
import { mutantOf, mutate } from "./mutants.ts";
import { scheduleOf } from "./schedule.ts";
import type { Message, Share } from "./work.ts";

/** A process of `Work`: plays its share of the schedules and reports each. */
const { first, step, end, wishes, mutant, shrink, trace, tally }: Share = JSON.parse(process.argv[2] ?? "{}");

// No process would receive the report.
const orphaned = (): never => process.exit(1);
process.once("disconnect", orphaned);
if (mutant !== undefined) mutate(mutantOf(mutant));
// Imported only now, because a module that is already loaded cannot be mutated.
const [{ runSchedule }, { shrunk }, { harmOf }] = await Promise.all([
  import("./run-schedule.ts"),
  import("./shrink.ts"),
  import("./harm/harm.ts"),
]);

const send = (message: Message): Promise<void> =>
  new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));

for (let seed = first; seed < end; seed += step) {
  const schedule = scheduleOf(seed, new SeededRandom(seed), wishes);
  const { violations, trace: lines, history } = await runSchedule(schedule, { everything: trace });
  if (violations.length > 0) {
    const least = shrink ? await shrunk(schedule, violations) : undefined;
    await send({ failure: { schedule, violations, trace: lines, least, wishes, mutant, everything: trace } });
  }
  await send({ done: true, harm: tally ? harmOf(history) : undefined });
}
process.off("disconnect", orphaned);
process.disconnect();
