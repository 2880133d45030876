import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../../base/errors.ts";
import type { Io } from "../../../base/io.ts";
import { resolveKubeconfig } from "../../../client/credentials/credential-resolution.ts";
import { etc } from "../../../config/load.ts";
import { programRunner } from "../../../doctor/programs.ts";
import { places } from "../../../enroll/enrolment.ts";
import { configOf } from "../../../process/load-config.ts";

/** The state of the systemd service of an agent that is not running, and whether the board was enrolled. */
export interface ServiceState {
  /** The state of the unit as reported by systemd; undefined if systemd does not respond. */
  readonly unit: UnitState | undefined;
  /** Whether the board was enrolled; undefined if this user lacks the permission to find out. */
  readonly isEnrolled: boolean | undefined;
}

/** The properties of the unit that `systemctl show` prints. */
export interface UnitState {
  readonly LoadState: string;
  readonly UnitFileState: string;
  readonly ActiveState: string;
  readonly Result: string;
  readonly ExecMainStatus: string;
}

/** Why the agent is not running, and the operator's next step. */
export interface Standstill {
  readonly why: string;
  readonly next: string;
}

const log = "journalctl -u siteward -n 50";

/** Causes by exit status. 243 is systemd's own: a file named by LoadCredential= is missing. */
const causes: Readonly<Record<string, Standstill>> = {
  78: {
    why: "its configuration cannot be used (status 78)",
    next: "siteward config check /etc/siteward/siteward.yaml, then sudo systemctl restart siteward",
  },
  243: {
    why: "a credential file that its unit names is missing (status 243)",
    next: "sudo siteward doctor --only creds,mqtt, then sudo siteward enroll and sudo systemctl restart siteward",
  },
};

export function standstill({ unit, isEnrolled }: ServiceState): Standstill {
  if (unit === undefined)
    return { why: "systemd is not running here", next: "siteward run starts it in the foreground" };
  const { LoadState, UnitFileState, ActiveState, Result, ExecMainStatus } = unit;
  if (LoadState === "not-found")
    return {
      why: "siteward.service is not installed",
      next: "sudo apt install ./siteward_….deb; without the package: siteward run",
    };
  if (LoadState === "masked")
    return {
      why: "siteward.service is masked",
      next: "sudo systemctl unmask siteward, then sudo systemctl start siteward",
    };
  const cause = ActiveState === "failed" || ActiveState === "activating" ? causes[ExecMainStatus] : undefined;
  if (cause) return cause;
  switch (ActiveState) {
    case "active":
      return { why: "its service is running", next: `systemd's watchdog restarts it if it hangs; ${log}` };
    case "failed":
      return { why: `its service failed (${Result})`, next: `${log}, then sudo systemctl restart siteward` };
    case "activating":
    case "deactivating":
      return ExecMainStatus === "0" || ActiveState === "deactivating"
        ? { why: `its service is ${ActiveState}`, next: `wait; if that does not change: ${log}` }
        : { why: `its service keeps failing (status ${ExecMainStatus})`, next: log };
    default:
  }
  if (isEnrolled === false)
    return {
      why: "this board has never been enrolled",
      next: "sudo siteward enroll, then sudo systemctl enable --now siteward",
    };
  const isEnabled = UnitFileState.startsWith("enabled");
  const [why, start] = isEnabled
    ? ["its service is stopped", "sudo systemctl start siteward"]
    : ["its service is stopped, and not enabled", "sudo systemctl enable --now siteward"];
  return {
    why,
    next: isEnrolled === undefined ? `${start}; if the board has never been enrolled: sudo siteward enroll` : start,
  };
}

/** Queries systemd and the file system. Takes up to 3 s and changes nothing. */
export async function readServiceState(io: Io): Promise<ServiceState> {
  const names = ["LoadState", "UnitFileState", "ActiveState", "Result", "ExecMainStatus"] as const;
  const program = programRunner(io.clock, { path: io.env.PATH, signal: io.signal, limit: 3_000 });
  const shown = await program("systemctl", ["show", "siteward.service", "-p", names.join(",")]);
  const properties = new Map(
    shown?.stdout.split("\n").map((line) => [line.replace(/=.*/, ""), line.replace(/^[^=]*=/, "")]),
  );
  const of = (name: keyof UnitState): string => properties.get(name) ?? "";
  const unit =
    shown?.code === 0
      ? (Object.fromEntries(names.map((name) => [name, of(name)])) as Record<keyof UnitState, string>)
      : undefined;
  return { unit, isEnrolled: isEnrolled(io) };
}

function isEnrolled(io: Io): boolean | undefined {
  if (existsSync(places("/").settings)) return true;
  const env = { HOME: "/nonexistent" };
  const resolved = resolveKubeconfig(configuredKubeconfig(io), "person", { env, etc });
  if (resolved === undefined) return false;
  // Only root can read the folder of credentials, so a missing file proves nothing.
  return existsSync("file" in resolved ? resolved.file : join(etc, "credentials/kubeconfig")) ? true : undefined;
}

function configuredKubeconfig(io: Io): string | undefined {
  try {
    return configOf(io, undefined).config.api.kubeconfig;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
