import type { Fault, Verdict } from "../config/remote-record.ts";
import type { ProblemPart } from "../status/parts.ts";

/** Describes desired settings that are not in force: each error with its setting, and a hint. */
export function verdictProblem({ version, state, faults }: Verdict, inForce: number | undefined): ProblemPart {
  const named = `version ${version ?? "(unknown)"} of the fleet's settings`;
  const stays = inForce === undefined ? "this board's own files are in force" : `version ${inForce} is in force`;
  if (faults.some(({ code }) => code === "by-command")) {
    const message = `${named} was taken back by a command; ${stays}`;
    return { type: "FleetConfigTakenBack", severity: "info", message };
  }
  const [verb, type] =
    state === "rejected" ? ["is refused", "FleetConfigRefused"] : ["was taken back", "FleetConfigTakenBack"];
  const told = faults.slice(0, mostTold).map(faultText);
  const rest = faults.length - told.length;
  const why = `${told.join("; ")}${rest > 0 ? `; and ${rest} more` : ""}`;
  // Only schema errors name a known setting.
  const setting = faults.find(({ path, code }) => code === "schema" && path !== "")?.path;
  const explained = setting === undefined ? "" : ` (siteward config explain ${settingOf(setting)})`;
  return {
    type,
    severity: "warning",
    message: `${named} ${verb}: ${why}; ${stays}`,
    hint: `publish a corrected document with a higher version${explained}`,
  };
}

const mostTold = 3;
const longestFault = 200;

const sentences: Readonly<Record<Fault["code"], string>> = {
  schema: "is not valid",
  "unknown-key": "is not a setting",
  locked: "is locked on this board (remote.locked)",
  unsupported: "cannot be set by the fleet",
  unhealthy: "did harm",
  "by-command": "by a command",
  "not-stored": "could not be stored",
};

const faultText = ({ path, code, message }: Fault): string =>
  [path === "" ? undefined : settingOf(path), message ?? sentences[code]]
    .filter(Boolean)
    .join(" ")
    .slice(0, longestFault);

/** Converts "/log/level" to "log.level", the usual name of a setting. */
const settingOf = (pointer: string): string =>
  pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
