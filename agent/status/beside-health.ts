import { elapsed, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/time/duration.ts";
import { clockTime } from "./board-problems.ts";
import type { Parts, ProblemPart } from "./parts.ts";

/** Problems of the fleet's broker, the clock, the state folder and the cache's log. */
export const besideProblems = (parts: Parts): readonly ProblemPart[] => [
  ...brokerProblems(parts),
  ...clockProblems(parts),
  ...placeProblems(parts),
  ...logProblems(parts),
];

/**
 * Clock skew above which it is reported (`reported`), and above which the doctor reports a failure (`grave`), because
 * certificates may be refused then (docs/interfaces.md#clocks).
 */
export const clockSkewLimits: { readonly reported: Millis; readonly grave: Millis } = {
  reported: 30_000,
  grave: 300_000,
};

function brokerProblems({ mqtt, now }: Parts): readonly ProblemPart[] {
  if (!mqtt?.error || mqtt.state === "up") return [];
  const since = mqtt.state === "down" ? ` (for ${formatDuration(elapsed(mqtt.since, now))})` : "";
  const again = mqtt.nextAttempt === undefined ? "" : `; next attempt at ${clockTime(mqtt.nextAttempt, now)}`;
  return [
    {
      type: "BrokerUnreachable",
      severity: "warning",
      message: `${mqtt.error.message}${since}${again}; the site itself is managed as usual`,
      hint:
        mqtt.error.hint ??
        "check the link and the broker (siteward doctor --only mqtt); messages are kept in the outbox",
    },
  ];
}

function clockProblems({ clock }: Parts): readonly ProblemPart[] {
  const skew = clock?.apiSkewMs;
  if (skew === undefined || Math.abs(skew) <= clockSkewLimits.reported) return [];
  return [
    {
      type: "ClockSkew",
      severity: "warning",
      message: `this board's clock is ${formatDuration(Math.abs(skew))} ${skew > 0 ? "behind" : "ahead of"} the API server's`,
      hint: "check time synchronisation (timedatectl timesync-status); certificates may be refused until the clock is right",
    },
  ];
}

/** The problem of a write-ahead log that has grown because a long-running reader keeps SQLite from checkpointing it. */
function logProblems({ journal }: Parts): readonly ProblemPart[] {
  const { walBytes = 0, walExpected = Number.POSITIVE_INFINITY, path = "" } = journal ?? {};
  if (walBytes <= walExpected) return [];
  return [
    {
      type: "CacheLogHeld",
      severity: "warning",
      message: `the write-ahead log of ${path} has grown beyond ${Math.round(walExpected / 2 ** 20)} MiB: a transaction of another process keeps it from shrinking`,
      hint: `find that process with fuser ${path} and end it; the log will then shrink by itself`,
    },
  ];
}

function placeProblems({ journal, memory }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  if (journal?.persistence === "volatile")
    found.push({
      type: "StateVolatile",
      severity: "warning",
      message: "the state folder is in memory: the agent's stored state is lost after a power cut",
      hint: "mount a small writable partition at the state folder; siteward doctor --only storage.persist shows how",
    });
  if (memory?.cgroup === "off")
    found.push({
      type: "MemoryCgroupOff",
      severity: "info",
      message: "the kernel does not limit memory: MemoryMax has no effect; the agent still keeps its own limit",
    });
  return found;
}

/** The evictions that a freeze or quiet hours hold back. */
const evictions = "evictions from lost or not-ready boards";
const notHeld = "drains, board.confirm-dead and NoExecute taints with other keys still take effect";

/** Holds are not faults; they are listed so that operators can see why no pod is evicted from a lost board. */
export function holdProblems({ holds, now }: Parts): readonly ProblemPart[] {
  if (holds === undefined) return [];
  const { freezes, pauses, confirmed, quietUntil } = holds;
  const reported = (until: Parts["now"], by?: string, reason?: string): string =>
    `for ${formatDuration(Math.max(0, elapsed(now, until)))} more${by ? `, by ${by}` : ""}${reason ? ` (${reason})` : ""}`;
  return [
    ...freezes.map(({ scope, target, until, by, reason }): ProblemPart => {
      const subject = target === undefined ? scope : `${scope} ${target}`;
      const frozen =
        scope === "board"
          ? `evictions from ${subject} while it is lost or not ready`
          : `${evictions} of ${scope === "site" ? "the site" : subject}`;
      const message = `${frozen} are frozen ${reported(until, by, reason)}`;
      const args = target === undefined ? "" : ` '${JSON.stringify({ scope, target })}'`;
      const hint = `${notHeld}; to lift the freeze: siteward cmd eviction.thaw${args} --reason TEXT`;
      return { type: "EvictionFrozen", subject, severity: "info", message, hint };
    }),
    ...pauses.map(({ controller, until, by, reason }): ProblemPart => {
      const message = `${controller} is paused ${reported(until, by, reason)}`;
      const hint = `to resume it: siteward cmd controllers.resume '${JSON.stringify({ controller })}' --reason TEXT`;
      return { type: "ControllerPaused", subject: controller, severity: "info", message, hint };
    }),
    ...confirmed.map(({ target = "", until, by, reason }): ProblemPart => {
      const message = `boards of zone ${target} that have been silent since the confirmation count as dead ${reported(until, by, reason)}`;
      const hint = `to withdraw it: siteward cmd zone.unconfirm-dead '${JSON.stringify({ zone: target })}' --reason TEXT`;
      return { type: "ZoneConfirmedDead", subject: target, severity: "info", message, hint };
    }),
    ...(quietUntil
      ? [
          {
            type: "QuietHours",
            severity: "info",
            message: `no ${evictions} ${reported(quietUntil)}`,
            hint: notHeld,
          } as const,
        ]
      : []),
  ];
}
