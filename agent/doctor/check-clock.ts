import type { Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { clockSkewLimits } from "../status/beside-health.ts";
import type { Patient } from "./patient.ts";
import { fail, ok, skip, unreached, type Verdict, warn } from "./verdict.ts";

const marker = "/run/systemd/timesync/synchronized";

/** timesyncd creates a marker file; systemd-timedated knows about other clients. */
export async function clockSync({ files, program }: Patient): Promise<Verdict> {
  if (files.read(marker) !== undefined) return ok("set by systemd-timesyncd");
  const asked = await program("timedatectl", ["show", "-p", "NTPSynchronized", "--value"]);
  if (asked?.stdout.trim() === "yes") return ok("set by an NTP client");
  return warn(
    "the clock was not set since this boot: certificates and times in commands cannot be trusted",
    "timedatectl set-ntp true; without the internet name a server of the site in /etc/systemd/timesyncd.conf (NTP=)",
  );
}

export async function clockSkew({ api }: Patient): Promise<Verdict> {
  if (!api) return skip("the configuration cannot be read");
  try {
    const { date, at } = await api.greeting();
    if (date === undefined) return skip("the API server sends no Date");
    return skewVerdict(at.wall - date);
  } catch {
    return unreached;
  }
}

/** `ahead`: our clock minus the server's. The Date header has whole seconds and took a moment to arrive. */
export function skewVerdict(ahead: Millis): Verdict {
  const size = Math.abs(ahead);
  if (size <= clockSkewLimits.told) return ok("this board and the API server agree within 30s");
  const told = `this board's clock is ${formatDuration(size)} ${ahead < 0 ? "behind" : "ahead of"} the API server's`;
  const hint = "timedatectl timesync-status; if this board is right, look at the API server's clock";
  return size > clockSkewLimits.grave ? fail(told, hint) : warn(told, hint);
}
