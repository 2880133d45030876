import { noPermission } from "../../config/read-text.ts";
import { leftOutProblem } from "../../fleet/configuration/config-problems.ts";
import { type CheckResult, fail, ok, warn } from "../check-result.ts";
import type { Patient } from "../patient.ts";

/** Reports the problems that `siteward config check` reports: each with file, line and suggestion. */
export function configParse({ configuration }: Patient): CheckResult {
  if ("problems" in configuration) {
    const [first = "it cannot be read", ...rest] = configuration.problems;
    return fail(first, rest.length > 0 ? rest.join("\n") : remedyOf(first));
  }
  const { files, warnings, leftOut } = configuration.loaded;
  // Settings that this user is not allowed to read are not a fault; if the agent could not read them either, its status
  // says so.
  if (leftOut?.version !== undefined) {
    const { message, hint } = leftOutProblem(leftOut);
    return fail(message, hint);
  }
  const read =
    files.length > 0 ? `${files.join(", ")} ${files.length === 1 ? "is" : "are"} good` : "no file: all defaults";
  return warnings.length > 0 ? warn(warnings.join("; "), read) : ok(read);
}

const remedyOf = (problem: string): string =>
  problem.includes(noPermission)
    ? "Run this as root or as the agent's user, or give this user the permission to read the file."
    : "Correct it; siteward config reference names every setting.";
