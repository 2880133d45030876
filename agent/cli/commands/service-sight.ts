import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../base/errors.ts";
import type { Io } from "../../base/io.ts";
import { meantKubeconfig } from "../../client/meant-credentials.ts";
import { etc } from "../../config/load.ts";
import { programRunner } from "../../doctor/programs.ts";
import { places } from "../../enroll/enrolment.ts";
import { configOf } from "../../process/load-config.ts";

/** State of the service around an absent agent, and whether the board was ever enrolled. */
export interface ServiceSight {
  /** undefined: no service manager answers. */
  readonly unit: UnitSight | undefined;
  /** undefined: this user may not know. */
  readonly isEnrolled: boolean | undefined;
}

/** Properties from `systemctl show`. */
export interface UnitSight {
  readonly LoadState: string;
  readonly UnitFileState: string;
  readonly ActiveState: string;
  readonly Result: string;
  readonly ExecMainStatus: string;
}

/** Why there is no agent, and the next step. */
export interface Standstill {
  readonly why: string;
  readonly next: string;
}

const log = "journalctl -u siteward -n 50";

/** Exit statuses with a single remedy. 243 is systemd's: a file named by LoadCredential= is missing. */
const causes: Readonly<Record<string, Standstill>> = {
  78: {
    why: "its configuration cannot be used (status 78)",
    next: "siteward config check /etc/siteward/siteward.yaml, then sudo systemctl restart siteward",
  },
  243: {
    why: "a credential that its unit names is not there (status 243)",
    next: "sudo siteward doctor --only creds,mqtt, then sudo siteward enroll and sudo systemctl restart siteward",
  },
};

export function standstill({ unit, isEnrolled }: ServiceSight): Standstill {
  if (unit === undefined) return { why: "no systemd answers here", next: "siteward run starts it in the foreground" };
  const { LoadState, UnitFileState, ActiveState, Result, ExecMainStatus } = unit;
  if (LoadState === "not-found")
    return {
      why: "siteward.service is not installed",
      next: "sudo apt install ./siteward_….deb; without the package: siteward run",
    };
  if (LoadState === "masked")
    return { why: "siteward.service is masked", next: "sudo systemctl unmask siteward, then start it" };
  const cause = ActiveState === "failed" || ActiveState === "activating" ? causes[ExecMainStatus] : undefined;
  if (cause) return cause;
  switch (ActiveState) {
    case "active":
      return { why: "its service runs", next: `systemd's watchdog restarts it if it hangs; ${log}` };
    case "failed":
      return { why: `its service failed (${Result})`, next: `${log}, then sudo systemctl restart siteward` };
    case "activating":
    case "deactivating":
      return ExecMainStatus === "0" || ActiveState === "deactivating"
        ? { why: `its service is ${ActiveState}`, next: `wait; if it stays so: ${log}` }
        : { why: `its service ends again and again (status ${ExecMainStatus})`, next: log };
    default:
  }
  if (isEnrolled === false)
    return {
      why: "this board was never enrolled",
      next: "sudo siteward enroll, then sudo systemctl enable --now siteward",
    };
  const isEnabled = UnitFileState.startsWith("enabled");
  const [why, start] = isEnabled
    ? ["its service is stopped", "sudo systemctl start siteward"]
    : ["its service is stopped, and not enabled", "sudo systemctl enable --now siteward"];
  return {
    why,
    next: isEnrolled === undefined ? `${start}; if the board was never enrolled: sudo siteward enroll` : start,
  };
}

/** Queries systemd and the file system, within 3 s. Changes nothing. */
export async function seeService(io: Io): Promise<ServiceSight> {
  const names = ["LoadState", "UnitFileState", "ActiveState", "Result", "ExecMainStatus"] as const;
  const program = programRunner(io.clock, { path: io.env.PATH, signal: io.signal, limit: 3_000 });
  const asked = await program("systemctl", ["show", "siteward.service", "-p", names.join(",")]);
  const told = new Map(asked?.stdout.split("\n").map((line) => [line.replace(/=.*/, ""), line.replace(/^[^=]*=/, "")]));
  const of = (name: keyof UnitSight): string => told.get(name) ?? "";
  const unit =
    asked?.code === 0
      ? (Object.fromEntries(names.map((name) => [name, of(name)])) as Record<keyof UnitSight, string>)
      : undefined;
  return { unit, isEnrolled: isEnrolled(io) };
}

function isEnrolled(io: Io): boolean | undefined {
  if (existsSync(places("/").settings)) return true;
  const env = { HOME: "/nonexistent" };
  const meant = meantKubeconfig(configuredKubeconfig(io), "person", { env, etc });
  if (meant === undefined) return false;
  // Only root can read the folder of credentials.
  return existsSync("file" in meant ? meant.file : join(etc, "credentials/kubeconfig")) ? true : undefined;
}

function configuredKubeconfig(io: Io): string | undefined {
  try {
    return configOf(io, undefined).config.api.kubeconfig;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
