import type { ReadFact } from "../board/facts.ts";
import { compatibles, ramBytes } from "../board/facts.ts";
import { heatLimits, type SensorLimits } from "../board/limits.ts";
import type { Profile } from "../board/profile.ts";
import type { PowerReading, TemperatureReading } from "../board/readings.ts";
import { info, ok, skip, type Verdict, warn } from "./verdict.ts";

/** Checks that a profile names this board, and that the unit was set up from that profile. */
export function boardProfile(profile: Profile | undefined, read: ReadFact, dropIn: string | undefined): Verdict {
  const [first] = compatibles(read);
  const ram = ramBytes(read);
  const has = `${first ?? "a machine without a device tree"}, ${ram === undefined ? "?" : Math.round(ram / 2 ** 20)} MiB`;
  if (profile === undefined)
    return warn(
      `no profile fits this board (${has})`,
      "siteward profile list shows them; put one of your own into /etc/siteward/profiles.d.",
    );
  const isGeneric = profile.match.compatible.length === 0;
  if (dropIn !== undefined && !dropIn.includes(`MemoryMax=${profile.runtime.memoryMaxMiB}M`))
    return warn(
      `the unit was set up for another board than this one (${has}), which is ${profile.id}`,
      "siteward profile apply, then systemctl daemon-reload && systemctl restart siteward",
    );
  if (isGeneric && first !== undefined) return info(`no profile names this board (${has}); ${profile.id} is used`);
  return ok(`${profile.id} (${has})`);
}

const signs: Readonly<Record<string, string>> = {
  undervoltage: "undervoltage",
  "frequency-capped": "its clock is capped",
  throttled: "it is throttled",
  "soft-temperature-limit": "it is at its soft temperature limit",
};

const named = (list: readonly string[]): string => list.map((one) => signs[one] ?? one).join(", ");

export function powerVerdict(power: PowerReading | undefined): Verdict {
  if (power === undefined) return skip("this board tells nothing of its power supply");
  const hint = "A supply of 5.1 V and 3 A (5 A for a Pi 5), a short thick cable, no hungry USB devices.";
  if (power.now.length > 0) return warn(`now: ${named(power.now)}`, hint);
  if (power.sinceBoot.length > 0) return warn(`since the boot, not now: ${named(power.sinceBoot)}`, hint);
  return ok("no undervoltage and no throttling since the boot");
}

export function temperatureVerdict(
  temperature: TemperatureReading | undefined,
  limits: SensorLimits["temperature"],
): Verdict {
  if (temperature === undefined) return skip("this board has no sensor of its temperature");
  const { zone, celsius, slowsAt } = temperature;
  const { warn: warmFrom } = heatLimits(temperature, limits);
  const told = `${celsius} °C (${zone})${slowsAt === undefined ? "" : `, it slows down at ${slowsAt} °C`}`;
  return celsius >= warmFrom
    ? warn(`${told}: too warm from ${warmFrom} °C on`, "A heat sink, a fan, or a cooler place.")
    : ok(told);
}
