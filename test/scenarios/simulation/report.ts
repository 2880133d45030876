import { described, type Schedule, type Wishes } from "./schedule.ts";

export interface Failure {
  readonly schedule: Schedule;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** The same failure with fewer faults. */
  readonly least?: Schedule | undefined;
  /** The further options that select the same schedule and mutant. */
  readonly wishes: Wishes;
  readonly mutant?: string | undefined;
  /** Print the whole trace. */
  readonly everything?: boolean;
}

const mostViolations = 12;
const linesOfTrace = 40;

/** The report of a failure: the command that repeats it, the violations, the trace. */
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

/** A mutant determines its own wishes. */
function optionsOf({ wishes, mutant }: Failure): string {
  const options = mutant === undefined ? wishes : { mutant };
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` --${name} ${JSON.stringify(value)}`)
    .join("");
}
