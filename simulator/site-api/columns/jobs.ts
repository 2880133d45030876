import { itemsAt, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import type { ApiObject } from "../object.ts";
import { age, ageColumn, type Column, column, countColumn, nameColumn, orNone, timeBetween } from "./column.ts";
import { templateColumnsAt } from "./workloads.ts";

export const jobColumns: readonly Column[] = [
  nameColumn,
  column("Status", "How far it is.", jobStatus),
  column("Completions", "Pods that ended well, of those wished for.", completions),
  column("Duration", "How long it took, or takes so far.", duration),
  ageColumn,
  ...templateColumnsAt("spec"),
];

/** The strongest word comes first. */
function jobStatus(job: ApiObject): string {
  const conditions = itemsAt(job, "status", "conditions")
    .filter((condition) => textAt(condition, "status") === "True")
    .map((condition) => textAt(condition, "type"));
  const firstOf = (...types: readonly string[]): string | undefined => types.find((type) => conditions.includes(type));
  const ended = firstOf("Complete", "Failed");
  if (ended !== undefined) return ended;
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  return firstOf("Suspended", "FailureTarget", "SuccessCriteriaMet") ?? "Running";
}

function completions(job: ApiObject): string {
  const succeeded = numberAt(job, "status", "succeeded") ?? 0;
  const wanted = numberAt(job, "spec", "completions");
  if (wanted !== undefined) return `${succeeded}/${wanted}`;
  const parallelism = numberAt(job, "spec", "parallelism") ?? 0;
  return `${succeeded}/1${parallelism > 1 ? ` of ${parallelism}` : ""}`;
}

function duration(job: ApiObject, wall: Millis): string {
  const [begin, end] = [textAt(job, "status", "startTime"), textAt(job, "status", "completionTime")];
  if (begin === "") return "";
  return end === "" ? age(begin, wall) : timeBetween(begin, end);
}

export const cronJobColumns: readonly Column[] = [
  nameColumn,
  column("Schedule", "When its jobs begin.", (job) => textAt(job, "spec", "schedule")),
  column("Timezone", "Of which place the schedule's times are.", (job) => orNone(textAt(job, "spec", "timeZone"))),
  {
    ...column("Suspend", "Whether no jobs begin for now.", (job) => suspended(job)),
    type: "boolean",
  },
  countColumn("Active", "Jobs that run.", (job) => itemsAt(job, "status", "active").length),
  column("Last Schedule", "Time since its last job began.", (job, wall) => {
    const last = textAt(job, "status", "lastScheduleTime");
    return last === "" ? "<none>" : age(last, wall);
  }),
  ageColumn,
  ...templateColumnsAt("spec", "jobTemplate", "spec"),
];

/** A word, as the real server's is. */
const suspended = (job: ApiObject): string => (valueAt(job, "spec", "suspend") === true ? "True" : "False");
