import type { Millis } from "../../base/clock.ts";
import { formatDuration } from "../../base/time/duration.ts";
import { clockSkewLimits } from "../../status/beside-health.ts";
import { type CheckResult, fail, ok, skip, unreached, warn } from "../check-result.ts";
import type { Patient } from "../patient.ts";

const marker = "/run/systemd/timesync/synchronized";

/**
 * Checks that the clock has been synchronised: systemd-timesyncd creates a file, and timedatectl shows whether another
 * NTP client has done it.
 */
export async function clockSync({ files, program }: Patient): Promise<CheckResult> {
  if (files.read(marker) !== undefined) return ok("set by systemd-timesyncd");
  const asked = await program("timedatectl", ["show", "-p", "NTPSynchronized", "--value"]);
  if (asked?.stdout.trim() === "yes") return ok("set by an NTP client");
  return warn(
    "the clock has not been set since boot, so certificates and times in commands cannot be checked reliably",
    "Run timedatectl set-ntp true; without internet access, set a time server of the site in /etc/systemd/timesyncd.conf (NTP=)",
  );
}

export async function clockSkew({ api }: Patient): Promise<CheckResult> {
  if (!api) return skip("the configuration cannot be read");
  try {
    const { date, at } = await api.greeting();
    if (date === undefined) return skip("the API server does not send a Date header");
    return checkSkew(at.wall - date);
  } catch {
    return unreached;
  }
}

/**
 * `ahead`: this board's clock minus the server's, with an error of a second or more, since the Date header has whole
 * seconds.
 */
export function checkSkew(ahead: Millis): CheckResult {
  const size = Math.abs(ahead);
  if (size <= clockSkewLimits.reported) return ok("this board and the API server agree within 30s");
  const message = `this board's clock is ${formatDuration(size)} ${ahead < 0 ? "behind" : "ahead of"} the API server's`;
  const hint = "Check timedatectl timesync-status; if this board's clock is right, check the API server's clock";
  return size > clockSkewLimits.grave ? fail(message, hint) : warn(message, hint);
}
