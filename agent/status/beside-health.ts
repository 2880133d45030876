import { elapsed, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { HoldsPart, Parts, ProblemPart } from "./parts.ts";

/** Problems other than the site's own: the fleet's broker, the clock, the state folder, WAL growth, and holds. */
export const besideProblems = (parts: Parts): readonly ProblemPart[] => [
  ...brokerProblems(parts),
  ...clockProblems(parts),
  ...placeProblems(parts),
  ...logProblems(parts),
  ...(parts.holds ? holdProblems(parts.holds, parts) : []),
];

/**
 * Clock skew above which it is reported (`told`), and above which it is a failure (`grave`), as certificates may then be
 * refused (docs/interfaces.md#clocks).
 */
export const clockSkewLimits: { readonly told: Millis; readonly grave: Millis } = { told: 30_000, grave: 300_000 };

function brokerProblems({ mqtt, now }: Parts): readonly ProblemPart[] {
  if (!mqtt?.error || mqtt.state === "up") return [];
  const since = mqtt.state === "down" ? ` (for ${formatDuration(elapsed(mqtt.since, now))})` : "";
  return [
    {
      type: "BrokerUnreachable",
      severity: "warning",
      message: `${mqtt.error.message}${since}; the site is looked after meanwhile`,
      hint:
        mqtt.error.hint ?? "check the link and the broker (siteward doctor --only mqtt); messages wait in the outbox",
    },
  ];
}

function clockProblems({ clock }: Parts): readonly ProblemPart[] {
  const skew = clock?.apiSkew;
  if (skew === undefined || Math.abs(skew) <= clockSkewLimits.told) return [];
  return [
    {
      type: "ClockSkew",
      severity: "warning",
      message: `this board's clock is ${formatDuration(Math.abs(skew))} ${skew > 0 ? "behind" : "ahead of"} the API server's`,
      hint: "timedatectl timesync-status; certificates may be refused until the clock is right",
    },
  ];
}

/** A long-running reader keeps SQLite from checkpointing the WAL. */
function logProblems({ journal }: Parts): readonly ProblemPart[] {
  const { walBytes = 0, walExpected = Number.POSITIVE_INFINITY, path = "" } = journal ?? {};
  if (walBytes <= walExpected) return [];
  return [
    {
      type: "CacheLogHeld",
      severity: "warning",
      message: `the log of ${path} has grown beyond ${Math.round(walExpected / 2 ** 20)} MiB: another process reads the file and does not end`,
      hint: `find it with fuser ${path} and end it; the log shrinks by itself then`,
    },
  ];
}

function placeProblems({ journal, memory }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  if (journal?.persistence === "volatile")
    found.push({
      type: "StateVolatile",
      severity: "warning",
      message: "the state folder lies in memory: what the agent remembers is gone after a power cut",
      hint: "mount a small writable partition there (siteward doctor --only storage.persist)",
    });
  if (memory?.cgroup === "off")
    found.push({
      type: "MemoryCgroupOff",
      severity: "info",
      message: "the kernel limits no memory: MemoryMax has no effect; the agent keeps its own limit",
    });
  return found;
}

/** Holds are not faults, but must be easy to find for an operator who wonders why nothing is evicted. */
function holdProblems({ freezes, pauses, quietUntil }: HoldsPart, { now }: Parts): readonly ProblemPart[] {
  const told = (until: Parts["now"], by?: string, reason?: string): string =>
    `for ${formatDuration(Math.max(0, elapsed(now, until)))} more${by ? `, by ${by}` : ""}${reason ? ` (${reason})` : ""}`;
  return [
    ...freezes.map(({ scope, target, until, by, reason }): ProblemPart => {
      const subject = target === undefined ? scope : `${scope} ${target}`;
      const message = `nothing is evicted in ${scope === "site" ? "the site" : subject} ${told(until, by, reason)}`;
      return { type: "EvictionFrozen", subject, severity: "info", message };
    }),
    ...pauses.map(({ controller, until, by, reason }): ProblemPart => {
      const message = `${controller} does nothing ${told(until, by, reason)}`;
      return { type: "ControllerPaused", subject: controller, severity: "info", message };
    }),
    ...(quietUntil
      ? [{ type: "QuietHours", severity: "info", message: `nothing is evicted ${told(quietUntil)}` } as const]
      : []),
  ];
}
