import { described, type Schedule, type Wishes } from "./schedule.ts";

export interface Failure {
  readonly schedule: Schedule;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** The same failure with fewer faults. */
  readonly least?: Schedule | undefined;
  /** What else has to be said to draw the same schedule from its seed, and to break the agent in the same way. */
  readonly wishes: Wishes;
  readonly mutant?: string | undefined;
  /** The whole trace is wanted. */
  readonly everything?: boolean;
}

const mostViolations = 12;
const linesOfTrace = 40;

/** What a person needs of a failure: how to repeat it, what was wrong, what happened. */
export function reportOf(failure: Failure): string {
  const { schedule, violations, trace, least, everything } = failure;
  const rest = violations.length - mostViolations;
  return [
    "",
    `FAILED. To repeat it: npm run test:long -- --schedules 1 --seed ${schedule.seed}${optionsOf(failure)}`,
    ...violations.slice(0, mostViolations).map((violation) => `  ${violation}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    ...described(schedule),
    ...(least === undefined ? [] : ["these of them are enough:", ...described(least)]),
    everything ? "the trace:" : "the trace ends with:",
    ...(everything ? trace : trace.slice(-linesOfTrace)).map((line) => `  ${line}`),
  ].join("\n");
}

/** A mutant brings its own wishes. */
function optionsOf({ wishes, mutant }: Failure): string {
  const options = mutant === undefined ? wishes : { mutant };
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` --${name} ${JSON.stringify(value)}`)
    .join("");
}
