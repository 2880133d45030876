import type { ReadFact } from "../../board/facts.ts";
import { compatibles, ramBytes } from "../../board/facts.ts";
import { heatLimits, type SensorLimits } from "../../board/limits.ts";
import type { Profile } from "../../board/profile/profile.ts";
import type { PowerReading, TemperatureReading } from "../../board/sensors/readings.ts";
import { type CheckResult, info, ok, skip, warn } from "../check-result.ts";

/**
 * Checks that a board profile fits this board, and that its limits are set in the unit. `dropIn`: the unit's drop-in
 * for them.
 */
export function boardProfile(profile: Profile | undefined, read: ReadFact, dropIn: string | undefined): CheckResult {
  const [first] = compatibles(read);
  const ram = ramBytes(read);
  const has = `${first ?? "a machine without a device tree"}, ${ram === undefined ? "?" : Math.round(ram / 2 ** 20)} MiB`;
  if (profile === undefined)
    return warn(
      `no profile fits this board (${has})`,
      "siteward profile list shows all profiles; put one for this board into /etc/siteward/profiles.d.",
    );
  const isGeneric = profile.match.compatible.length === 0;
  if (dropIn !== undefined && !dropIn.includes(`MemoryMax=${profile.runtime.memoryMaxMiB}M`))
    return warn(
      `the unit was set up for another board; this one is ${profile.id} (${has})`,
      "Run siteward profile apply, then systemctl daemon-reload && systemctl restart siteward.",
    );
  if (isGeneric && first !== undefined) return info(`no profile matches this board (${has}); ${profile.id} is used`);
  return ok(`${profile.id} (${has})`);
}

/** The firmware's flags in words. */
const signs: Readonly<Record<string, string>> = {
  undervoltage: "undervoltage",
  "frequency-capped": "its clock is capped",
  throttled: "it is throttled",
  "soft-temperature-limit": "it is at its soft temperature limit",
};

const named = (list: readonly string[]): string => list.map((one) => signs[one] ?? one).join(", ");

export function checkPower(power: PowerReading | undefined): CheckResult {
  if (power === undefined) return skip("this board does not report the state of its power supply");
  const hint =
    "Use a supply of 5.1 V and 3 A (5 A for a Pi 5) with a short, thick cable, and no USB devices that draw much power.";
  if (power.now.length > 0) return warn(`now: ${named(power.now)}`, hint);
  if (power.sinceBoot.length > 0) return warn(`since boot, but not now: ${named(power.sinceBoot)}`, hint);
  return ok("no undervoltage and no throttling since boot");
}

export function checkTemperature(
  temperature: TemperatureReading | undefined,
  limits: SensorLimits["temperature"],
): CheckResult {
  if (temperature === undefined) return skip("this board has no temperature sensor");
  const { zone, celsius, slowsAt } = temperature;
  const { warn: warmFrom } = heatLimits(temperature, limits);
  const message = `${celsius} °C (${zone})${slowsAt === undefined ? "" : `; the board slows down at ${slowsAt} °C`}`;
  return celsius >= warmFrom
    ? warn(`${message}; the limit is ${warmFrom} °C`, "Add a heat sink or a fan, or move the board to a cooler place.")
    : ok(message);
}
