import { type CheckResult, info, ok, skip, warn } from "../check-result.ts";
import type { RunProgram } from "../programs.ts";

const unit = "siteward.service";

/** The systemd version that each feature of the unit requires; older versions ignore the setting. */
const features: readonly (readonly [since: number, what: string])[] = [
  [247, "LoadCredential= (without it, the agent reads /etc/siteward/credentials itself)"],
  [250, "encrypted credentials"],
  [253, "OpenFile="],
  [254, "RestartSteps= (without it, two seconds between restarts)"],
];

export async function systemdVersion(program: RunProgram): Promise<CheckResult> {
  const asked = await program("systemctl", ["--version"]);
  const version = Number(/^systemd (\d+)/.exec(asked?.stdout ?? "")?.[1] ?? Number.NaN);
  if (!Number.isFinite(version)) return skip("there is no systemd here");
  const missing = features.filter(([since]) => version < since).map(([since, what]) => `${since}: ${what}`);
  return missing.length === 0
    ? ok(`systemd ${version}`)
    : info(`systemd ${version} lacks features of newer versions: ${missing.join("; ")}`);
}

/** Checks that systemd uses the hardware watchdog, because nothing else restarts a board whose kernel hangs. */
export async function systemdWatchdog(program: RunProgram): Promise<CheckResult> {
  const asked = await program("systemctl", ["show", "-p", "RuntimeWatchdogUSec", "--value"]);
  if (asked === undefined || asked.code !== 0) return skip("systemd does not respond");
  const value = asked.stdout.trim();
  if (value !== "" && value !== "0" && value !== "infinity")
    return ok(`the hardware watchdog restarts the board after ${value} without a sign of life`);
  return info(
    "the hardware watchdog is not used, so nothing restarts a board whose kernel hangs",
    "Put [Manager] and RuntimeWatchdogSec=15s into /etc/systemd/system.conf.d/watchdog.conf, then run: systemctl daemon-reexec",
  );
}

/** Checks that the agent's notifications can reach systemd, and how. */
export async function systemdNotify(program: RunProgram): Promise<CheckResult> {
  const asked = await program("systemctl", [
    "show",
    unit,
    "-p",
    "LoadState,Type,NotifyAccess,ExecStart,OpenFile,ActiveState,StatusText,WatchdogUSec",
  ]);
  if (asked === undefined || asked.code !== 0) return skip("systemd does not respond");
  return checkNotify(new Map(asked.stdout.split("\n").map((line) => pair(line))));
}

const pair = (line: string): readonly [string, string] => {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
};

export function checkNotify(found: ReadonlyMap<string, string>): CheckResult {
  const of = (name: string): string => found.get(name) ?? "";
  if (of("LoadState") !== "loaded") return skip(`no ${unit} is installed`);
  if (!of("Type").startsWith("notify"))
    return warn(
      `${unit} has Type=${of("Type")}: systemd receives no notifications`,
      "Use the unit that comes with siteward.",
    );
  const way = of("ExecStart").includes("launch.pl")
    ? "a socket that launch.pl connects before the agent starts"
    : of("OpenFile") !== ""
      ? "OpenFile=, a socket that systemd opens"
      : of("NotifyAccess") === "all"
        ? "systemd-notify, a process for each message"
        : undefined;
  if (way === undefined)
    return warn(`${unit}: the agent cannot reach systemd`, "Use one of the drop-ins that come with siteward.");
  const silent =
    of("ActiveState") === "active" && of("StatusText") === "" ? "; systemd has not received a status yet" : "";
  return ok(`the agent notifies systemd through ${way}${silent}`);
}

/** Checks the sandbox of the installed unit, with all its drop-ins. */
export async function sandboxScore(program: RunProgram): Promise<CheckResult> {
  const asked = await program("systemd-analyze", ["security", "--no-pager", unit]);
  if (asked === undefined) return skip("there is no systemd-analyze here");
  return checkScore(`${asked.stdout}\n${asked.stderr}`);
}

/** Highest exposure that counts as good; that of the shipped unit is 1.1. */
const highestExposure = 1.2;

export function checkScore(printed: string): CheckResult {
  const score = /Overall exposure level for \S+: ([\d.]+) (\w+)/.exec(printed);
  if (score === null) return skip(`systemd-analyze does not know ${unit}: ${printed.trim().split("\n")[0] ?? ""}`);
  const [, exposure = "", word = ""] = score;
  const message = `the sandbox of ${unit} has an exposure of ${exposure} (${word})`;
  return Number(exposure) <= highestExposure
    ? ok(message)
    : info(`${message}; that of the shipped unit is 1.1`, `systemctl cat ${unit} shows the drop-ins that widen it`);
}
