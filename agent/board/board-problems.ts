import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Standings } from "./board-sampler.ts";
import { type ClockState, timeToSync } from "./clock-sync.ts";
import type { Sign } from "./debounce.ts";
import { heatLimits, isWorn, type SensorLimits } from "./limits.ts";
import type { BoardReadings } from "./readings.ts";

/** A problem of the board that a person should know, in the form of the status. */
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
  readonly startedAt: Instant;
}

/** A sign that was not seen for this long is no problem any more. */
const forgotten: Millis = 86_400_000;

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
      message: undervolted,
      hint: "use a supply of 5.1 V and 3 A (5 A for a Pi 5) and a short, thick cable",
    });
  const overcurrent = seenText(standings.overcurrent.long, false, now);
  if (overcurrent)
    found.push({
      type: "OverCurrent",
      severity: "warning",
      message: `the board draws more current than it is made for: ${overcurrent}`,
      hint: "a lower power mode (nvpmodel), or a stronger supply",
    });
  return found;
}

function heatProblems(
  { readings: { temperature, power }, standings, limits }: BoardView,
  now: Instant,
): readonly BoardProblem[] {
  const found: BoardProblem[] = [];
  const throttled = seenText(standings.throttled.long, power?.sinceBoot.includes("throttled") ?? false, now);
  const hint = "a heat sink, a fan, or a cooler place";
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
      message: `${device} is read-only: nothing is remembered over a restart, and this board does not lead`,
      hint: "a card that fails turns read-only: look at dmesg, and replace it",
    });
  if (freeBytes !== undefined && freeBytes < limits.freeSpace && !isReadOnly)
    found.push({
      type: "StorageSpaceLow",
      severity: "warning",
      message: `${Math.floor(freeBytes / 2 ** 20)} MiB are free in the state folder's file system`,
      hint: "journalctl --vacuum-size=32M, apt-get clean",
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
      message: "the clock was not set since the board started: times are not to be believed",
      hint: "timedatectl; open UDP port 123 to a time server, or name one of the site in timesyncd.conf",
    });
  if (standings.pressed.short.since && readings.pressure.memory !== undefined)
    found.push({
      type: "MemoryPressure",
      severity: "warning",
      message: `something waits for memory ${readings.pressure.memory} % of the time`,
      hint: "fewer pods on this board, or limits of memory on them",
    });
  return found;
}

/** "now", "3x since the start, not now", "since the board started, not now". */
function seenText({ isNow, times, seen }: Sign, isRemembered: boolean, now: Instant): string | undefined {
  const often = times > 1 ? `, ${times}x since the agent started` : "";
  if (isNow) return `now${often}`;
  if (seen && elapsed(seen, now) < forgotten) return `seen ${times}x since the agent started, not now`;
  return isRemembered && seen === undefined ? "seen since the board started, not now" : undefined;
}

function wearText({ usedPercent, reserve }: NonNullable<BoardReadings["storage"]["wear"]>): string {
  const used =
    usedPercent === undefined
      ? undefined
      : usedPercent > 100
        ? "more than its promised life is used"
        : `${usedPercent} % of its life is used`;
  const left = reserve === "urgent" || reserve === "warning" ? `its reserve is nearly used up (${reserve})` : undefined;
  return [used, left].filter((part) => part !== undefined).join(", ");
}
