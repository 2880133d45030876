import type { RunProgram } from "./programs.ts";
import { info, ok, skip, type Verdict, warn } from "./verdict.ts";

const unit = "siteward.service";

/** The systemd version required by each feature of the unit; older versions ignore the line. */
const features: readonly (readonly [since: number, what: string])[] = [
  [247, "LoadCredential= (older: the agent reads /etc/siteward/credentials itself)"],
  [250, "encrypted credentials"],
  [253, "OpenFile="],
  [254, "RestartSteps= (older: two seconds between restarts)"],
];

export async function systemdVersion(program: RunProgram): Promise<Verdict> {
  const asked = await program("systemctl", ["--version"]);
  const version = Number(/^systemd (\d+)/.exec(asked?.stdout ?? "")?.[1] ?? Number.NaN);
  if (!Number.isFinite(version)) return skip("there is no systemd here");
  const missing = features.filter(([since]) => version < since).map(([since, what]) => `${since}: ${what}`);
  return missing.length === 0
    ? ok(`systemd ${version}`)
    : info(`systemd ${version} lacks what came with ${missing.join("; ")}`);
}

/** The hardware watchdog belongs to systemd; nothing else restarts a hung kernel. */
export async function systemdWatchdog(program: RunProgram): Promise<Verdict> {
  const asked = await program("systemctl", ["show", "-p", "RuntimeWatchdogUSec", "--value"]);
  if (asked === undefined || asked.code !== 0) return skip("systemd does not answer");
  const value = asked.stdout.trim();
  if (value !== "" && value !== "0" && value !== "infinity")
    return ok(`the hardware watchdog is fed every ${value} at least`);
  return info(
    "the hardware watchdog is not used: nobody restarts a board whose kernel hangs",
    "/etc/systemd/system.conf.d/watchdog.conf: [Manager] and RuntimeWatchdogSec=15s; then systemctl daemon-reexec",
  );
}

/** Checks how the agent's notifications reach systemd. */
export async function systemdNotify(program: RunProgram): Promise<Verdict> {
  const asked = await program("systemctl", [
    "show",
    unit,
    "-p",
    "LoadState,Type,NotifyAccess,ExecStart,OpenFile,ActiveState,StatusText,WatchdogUSec",
  ]);
  if (asked === undefined || asked.code !== 0) return skip("systemd does not answer");
  return notifyVerdict(new Map(asked.stdout.split("\n").map((line) => pair(line))));
}

const pair = (line: string): readonly [string, string] => {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
};

export function notifyVerdict(found: ReadonlyMap<string, string>): Verdict {
  const of = (name: string): string => found.get(name) ?? "";
  if (of("LoadState") !== "loaded") return skip(`no ${unit} is installed`);
  if (!of("Type").startsWith("notify"))
    return warn(`${unit} is of Type=${of("Type")}: systemd is told nothing`, "Use the unit that comes with siteward.");
  const way = of("ExecStart").includes("launch.pl")
    ? "a socket that launch.pl connects before the agent starts"
    : of("OpenFile") !== ""
      ? "OpenFile=, a socket that systemd opens"
      : of("NotifyAccess") === "all"
        ? "systemd-notify, a process for each message"
        : undefined;
  if (way === undefined)
    return warn(
      `${unit}: there is no way for the agent to reach systemd`,
      "Use one of the drop-ins that come with siteward.",
    );
  const spoken = of("ActiveState") === "active" && of("StatusText") === "" ? "; it said nothing yet" : "";
  return ok(`notifies through ${way}${spoken}`);
}

/** Scores the installed unit, with all its drop-ins. */
export async function sandboxScore(program: RunProgram): Promise<Verdict> {
  const asked = await program("systemd-analyze", ["security", "--no-pager", unit]);
  if (asked === undefined) return skip("there is no systemd-analyze here");
  return scoreVerdict(`${asked.stdout}\n${asked.stderr}`);
}

/** The shipped unit scores 1.1. */
const shipped = 1.2;

export function scoreVerdict(printed: string): Verdict {
  const score = /Overall exposure level for \S+: ([\d.]+) (\w+)/.exec(printed);
  if (score === null) return skip(`systemd-analyze knows no ${unit}: ${printed.trim().split("\n")[0] ?? ""}`);
  const [, exposure = "", word = ""] = score;
  const told = `the sandbox of ${unit} has an exposure of ${exposure} (${word})`;
  return Number(exposure) <= shipped
    ? ok(told)
    : info(`${told}; as shipped it is 1.1`, `systemctl cat ${unit} shows which drop-in opens it`);
}
