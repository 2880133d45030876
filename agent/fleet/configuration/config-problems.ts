import { jsonPointerTokens } from "../../base/json.ts";
import { listed } from "../../base/text/listed.ts";
import { type LeftOut, whyNotToLeadWithout } from "../../config/remote-fit.ts";
import type { Fault, RemoteRejection } from "../../config/remote-record.ts";
import type { ProblemPart } from "../../status/parts.ts";

/**
 * The problem to show for desired settings that are not in force: the errors with the settings they concern, and a
 * hint.
 */
export function verdictProblem({ version, state, faults }: RemoteRejection, inForce: number | undefined): ProblemPart {
  const named = `version ${version ?? "(unknown)"} of the fleet settings`;
  const stays = inForce === undefined ? "this board's own files are in force" : `version ${inForce} is in force`;
  if (faults.some(({ code }) => code === "by-command")) {
    const message = `${named} was rolled back by a command; ${stays}`;
    return { type: "FleetConfigTakenBack", severity: "info", message };
  }
  const [verb, type] =
    state === "rejected" ? ["is refused", "FleetConfigRefused"] : ["was rolled back", "FleetConfigTakenBack"];
  // Only schema errors name a known setting.
  const setting = faults.find(({ path, code }) => code === "schema" && path !== "")?.path;
  const explained = setting === undefined ? "" : ` (siteward config explain ${settingOf(setting)})`;
  return {
    type,
    severity: "warning",
    message: `${named} ${verb}: ${faultsText(faults)}; ${stays}`,
    hint: faults.some(({ code }) => code === "forbidden" || code.startsWith("signature-"))
      ? "publish it with the signature of a trusted key (siteward sign --topic …/config/desired)"
      : `publish a corrected document with a higher version${explained}`,
  };
}

/** The problem to show for stored settings that are not in force. */
export function leftOutProblem(leftOut: LeftOut): ProblemPart {
  const mayLead = whyNotToLeadWithout(leftOut) === undefined;
  return {
    type: "FleetConfigLeftOut",
    severity: mayLead ? "warning" : "critical",
    message: `${leftOutText(leftOut)}; ${mayLead ? "the other settings are in force" : "this board does not stand for election"}`,
    hint: `${
      leftOut.version === undefined
        ? "publish the fleet's settings again"
        : "correct this board's own files and reload, or publish a corrected document with a higher version"
    }; siteward config rollback --to 0 uses this board's own files alone`,
  };
}

/** Lists the fleet settings that cannot take effect, and why. */
export const leftOutText = ({ version, faults }: LeftOut): string =>
  version === undefined
    ? `the fleet settings and their version are unknown: ${faultsText(faults)}`
    : `version ${version} of the fleet settings cannot be applied in full: ${faultsText(faults)}`;

function faultsText(faults: readonly Fault[]): string {
  const shown = faults.slice(0, maxShown).map(faultText);
  return listed(shown, faults.length, "; ");
}

const maxShown = 3;
const maxFaultLength = 200;

const sentences: Readonly<Record<Fault["code"], string>> = {
  schema: "is not valid",
  "unknown-key": "is not a setting",
  locked: "is locked on this board (remote.locked)",
  unsupported: "cannot be set by the fleet",
  unhealthy: "made the board unhealthy",
  "by-command": "by a command",
  "not-stored": "could not be stored",
  forbidden: "the key is not allowed to sign settings",
  "signature-missing": "the signature is missing",
  "signature-unknown-key": "the signing key is not installed on this board",
  "signature-invalid": "the signature is invalid",
};

const faultText = ({ path, code, message }: Fault): string =>
  [path === "" ? undefined : settingOf(path), message ?? sentences[code]]
    .filter(Boolean)
    .join(" ")
    .slice(0, maxFaultLength);

/** Converts "/log/level" to "log.level", the form in which users know the setting. */
const settingOf = (pointer: string): string => jsonPointerTokens(pointer).join(".");
