import { described, type Schedule } from "./schedule.ts";

export interface Failure {
  readonly schedule: Schedule;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** The same failure with fewer faults. */
  readonly least: Schedule | undefined;
  /** What else has to be said to draw the same schedule from its seed. */
  readonly options: string;
}

const mostViolations = 12;
const linesOfTrace = 40;

/** What a person needs of a failure: how to repeat it, what was wrong, what happened. */
export function reportOf({ schedule, violations, trace, least, options }: Failure): string {
  const rest = violations.length - mostViolations;
  return [
    "",
    `FAILED. To repeat it: npm run test:long -- --schedules 1 --seed ${schedule.seed} ${options}`.trimEnd(),
    ...violations.slice(0, mostViolations).map((violation) => `  ${violation}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    ...described(schedule),
    ...(least === undefined ? [] : ["these of them are enough:", ...described(least)]),
    "the trace ends with:",
    ...trace.slice(-linesOfTrace).map((line) => `  ${line}`),
  ].join("\n");
}
