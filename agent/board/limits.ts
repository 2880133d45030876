import type { Config } from "../config/settings.ts";
import type { BoardReadings, TemperatureReading, WearReading } from "./sensors/readings.ts";

export type SensorLimits = Pick<Config["board"], "temperature" | "freeSpace" | "pressure">;

/** The temperatures, in degrees Celsius, at and above which a warning or a critical problem is reported. */
export interface HeatLimits {
  readonly warn: number;
  readonly critical: number;
}

/**
 * The limits follow from the temperature at which the kernel slows the board down, if the kernel reports it. Otherwise
 * the profile's numbers apply, as on a Raspberry Pi, which is slowed down by its firmware. Both limits are kept below
 * the temperature at which the kernel switches the board off.
 */
export function heatLimits(
  { slowsAt, stopsAt }: Pick<TemperatureReading, "slowsAt" | "stopsAt">,
  { warn, critical, belowTrip }: SensorLimits["temperature"],
): HeatLimits {
  const most = stopsAt === undefined ? Number.POSITIVE_INFINITY : stopsAt - belowTrip;
  return {
    warn: Math.min(slowsAt === undefined ? warn : slowsAt - belowTrip, most),
    critical: Math.min(slowsAt ?? critical, most),
  };
}

/** Signs of trouble in one sample of the sensors, not yet filtered over time. */
export interface Signs {
  readonly undervolted: boolean;
  readonly throttled: boolean;
  readonly hot: boolean;
  readonly overheated: boolean;
  readonly overcurrent: boolean;
  readonly readOnly: boolean;
  readonly pressed: boolean;
}

export function signsIn(
  { power, temperature, storage, pressure, isOvercurrent }: BoardReadings,
  limits: SensorLimits,
): Signs {
  const heat = temperature && heatLimits(temperature, limits.temperature);
  const isAbove = (limit: number | undefined): boolean =>
    temperature !== undefined && limit !== undefined && temperature.celsius >= limit;
  const reports = (sign: "undervoltage" | "throttled" | "soft-temperature-limit"): boolean =>
    power?.now.includes(sign) ?? false;
  return {
    undervolted: reports("undervoltage"),
    throttled: reports("throttled") || reports("soft-temperature-limit") || isAbove(temperature?.slowsAt),
    hot: isAbove(heat?.warn),
    overheated: isAbove(heat?.critical),
    overcurrent: isOvercurrent,
    readOnly: storage.isReadOnly,
    pressed: (pressure.memory ?? 0) >= limits.pressure,
  };
}

/**
 * The used share of its rated life, in percent, from which an eMMC counts as worn. The share is reported in steps of 10
 * %.
 */
const wornFrom = 90;

export const isWorn = (wear: WearReading | undefined): boolean =>
  (wear?.usedPercent ?? 0) >= wornFrom || wear?.reserve === "warning" || wear?.reserve === "urgent";
