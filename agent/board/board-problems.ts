import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Standings } from "./board-sampler.ts";
import { type ClockState, timeToSync } from "./clock-sync.ts";
import type { DebouncedSymptom } from "./debounce.ts";
import { heatLimits, isWorn, type SensorLimits } from "./limits.ts";
import type { BoardReadings } from "./sensors/readings.ts";

/** A problem of the board, as shown by the status. */
export interface BoardProblem {
  readonly type: string;
  readonly severity: "critical" | "warning" | "info";
  readonly message: string;
  readonly hint?: string;
}

export interface BoardView {
  readonly readings: BoardReadings;
  readonly standings: Standings;
  readonly limits: SensorLimits;
  readonly clock: ClockState;
  /** The start of the agent. */
  readonly startedAt: Instant;
}

/** A sign is no longer shown once it was last seen this long ago. */
const shownFor: Millis = 86_400_000;

export const boardProblems = (view: BoardView, now: Instant): readonly BoardProblem[] => [
  ...powerProblems(view, now),
  ...heatProblems(view, now),
  ...storageProblems(view),
  ...ownProblems(view, now),
];

function powerProblems({ readings: { power }, standings }: BoardView, now: Instant): readonly BoardProblem[] {
  const found: BoardProblem[] = [];
  const undervolted = seenText(standings.undervolted.long, power?.sinceBoot.includes("undervoltage") ?? false, now);
  if (undervolted)
    found.push({
      type: "UnderVoltage",
      severity: "warning",
      message: `the supply voltage is too low: ${undervolted}`,
      hint: "use a supply of 5.1 V and 3 A (5 A for a Pi 5) and a short, thick cable",
    });
  const overcurrent = seenText(standings.overcurrent.long, false, now);
  if (overcurrent)
    found.push({
      type: "OverCurrent",
      severity: "warning",
      message: `the board draws more current than its limit: ${overcurrent}`,
      hint: "choose a lower power mode (nvpmodel) or a stronger supply",
    });
  return found;
}

function heatProblems(
  { readings: { temperature, power }, standings, limits }: BoardView,
  now: Instant,
): readonly BoardProblem[] {
  const found: BoardProblem[] = [];
  const throttled = seenText(standings.throttled.long, power?.sinceBoot.includes("throttled") ?? false, now);
  const hint = "add a heat sink or a fan, or move the board to a cooler place";
  if (throttled)
    found.push({
      type: "ThermalThrottled",
      severity: "warning",
      message: `the board is slowed down: ${throttled}`,
      hint,
    });
  if (temperature && (standings.hot.short.since ?? standings.overheated.short.since)) {
    const { warn, critical } = heatLimits(temperature, limits.temperature);
    const isGrave = standings.overheated.short.since !== undefined;
    found.push({
      type: "TemperatureHigh",
      severity: isGrave ? "critical" : "warning",
      message: `${temperature.zone}: ${temperature.celsius} °C, more than ${isGrave ? critical : warn} °C`,
      hint,
    });
  }
  return found;
}

function storageProblems({ readings: { storage }, limits }: BoardView): readonly BoardProblem[] {
  const found: BoardProblem[] = [];
  const { wear, isReadOnly, freeBytes, device = "the state folder's disk" } = storage;
  if (isReadOnly)
    found.push({
      type: "StorageReadOnly",
      severity: "critical",
      message: `${device} is read-only: the agent keeps its state in memory, where a restart would lose it, so this board does not lead`,
      hint: "a failing card becomes read-only: check dmesg, and replace the card",
    });
  if (freeBytes !== undefined && freeBytes < limits.freeSpace && !isReadOnly)
    found.push({
      type: "StorageSpaceLow",
      severity: "warning",
      message: `${Math.floor(freeBytes / 2 ** 20)} MiB are free in the state folder's file system`,
      hint: "free some space: journalctl --vacuum-size=32M, apt-get clean",
    });
  if (wear && isWorn(wear))
    found.push({
      type: "StorageWearHigh",
      severity: wear.reserve === "urgent" ? "critical" : "warning",
      message: `${device}: ${wearText(wear)}`,
      hint: "plan to replace the board or its storage",
    });
  return found;
}

function ownProblems({ readings, standings, clock, startedAt }: BoardView, now: Instant): readonly BoardProblem[] {
  const found: BoardProblem[] = [];
  if (clock === "unsynced" && elapsed(startedAt, now) >= timeToSync)
    found.push({
      type: "ClockUnsynced",
      severity: "warning",
      message: "the clock has not been set since the board started, so its times cannot be trusted",
      hint: "check timedatectl; open UDP port 123 to a time server, or set the site's own server in /etc/systemd/timesyncd.conf (NTP=)",
    });
  if (standings.pressed.short.since && readings.pressure.memory !== undefined)
    found.push({
      type: "MemoryPressure",
      severity: "warning",
      message: `processes waited for memory during ${readings.pressure.memory} % of the last ten seconds`,
      hint: "run fewer pods on this board, or set memory limits on them",
    });
  return found;
}

/**
 * When a sign was seen: "now", "seen 3x since the agent started, not now", "seen since the board started, not now".
 * Undefined if the sign has never been seen, or not recently. `isRemembered`: whether the firmware reports that the
 * sign has occurred since it started.
 */
function seenText({ isNow, times, seen }: DebouncedSymptom, isRemembered: boolean, now: Instant): string | undefined {
  const often = times > 1 ? `, ${times}x since the agent started` : "";
  if (isNow) return `now${often}`;
  if (seen && elapsed(seen, now) < shownFor) return `seen ${times}x since the agent started, not now`;
  return isRemembered && seen === undefined ? "seen since the board started, not now" : undefined;
}

function wearText({ usedPercent, reserve }: NonNullable<BoardReadings["storage"]["wear"]>): string {
  const parts: string[] = [];
  if (usedPercent !== undefined && usedPercent > 100) parts.push("more than 100 % of the storage's rated life is used");
  else if (usedPercent !== undefined) parts.push(`${usedPercent} % of the storage's rated life is used`);
  if (reserve === "urgent" || reserve === "warning") parts.push(`its spare blocks are nearly used up (${reserve})`);
  return parts.join(", ");
}
