import type { Config } from "../config/settings.ts";
import type { BoardReadings, TemperatureReading, WearReading } from "./readings.ts";

export type SensorLimits = Pick<Config["board"], "temperature" | "freeSpace" | "pressure">;

/** Degrees Celsius from which on a board is too warm, and from which on it is in danger. */
export interface HeatLimits {
  readonly warn: number;
  readonly critical: number;
}

/**
 * The temperature at which the kernel slows the board down counts, if there is one. Otherwise the profile's numbers do,
 * as on a Raspberry Pi, whose firmware slows it down. Neither lies above the point at which the kernel switches it off.
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

/** Signs of trouble in one sample, by the sensors alone. */
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
  const says = (sign: "undervoltage" | "throttled" | "soft-temperature-limit"): boolean =>
    power?.now.includes(sign) ?? false;
  return {
    undervolted: says("undervoltage"),
    throttled: says("throttled") || says("soft-temperature-limit") || isAbove(temperature?.slowsAt),
    hot: isAbove(heat?.warn),
    overheated: isAbove(heat?.critical),
    overcurrent: isOvercurrent,
    readOnly: storage.isReadOnly,
    pressed: (pressure.memory ?? 0) >= limits.pressure,
  };
}

/** eMMC reports how much of its life is used in steps of 10 %. */
const wornFrom = 90;

export const isWorn = (wear: WearReading | undefined): boolean =>
  (wear?.usedPercent ?? 0) >= wornFrom || wear?.reserve === "warning" || wear?.reserve === "urgent";
