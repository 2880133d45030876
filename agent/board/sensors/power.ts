import { type BoardFiles, entries, numberIn, wordIn } from "./board-files.ts";
import type { PowerReading, PowerSign, RailReading } from "./readings.ts";

/**
 * Bits of the firmware's get_throttled: 0 to 3 show the current conditions; the same bits, 16 positions higher, show
 * which of them have occurred since the start.
 */
const signs: readonly PowerSign[] = ["undervoltage", "frequency-capped", "throttled", "soft-temperature-limit"];
const past = 16;

/**
 * The power supply of a Raspberry Pi; undefined on boards that report nothing about it. Current undervoltage is read
 * from the kernel's alarm (hwmon `rpi_volt`) if there is one, everything else from the firmware's bits. These are read
 * from sysfs, because vcgencmd would need /dev/vcio, which the sandbox hides.
 */
export function powerReading(files: BoardFiles): PowerReading | undefined {
  const alarm = undervoltageAlarm(files);
  const bits = throttledBits(files);
  if (alarm === undefined && bits === undefined) return undefined;
  const flags = bits ?? 0;
  const now = signs.filter((sign, bit) =>
    sign === "undervoltage" && alarm !== undefined ? alarm : (flags >> bit) & 1,
  );
  return { now, sinceBoot: signs.filter((_, bit) => (flags >> (past + bit)) & 1) };
}

function undervoltageAlarm(files: BoardFiles): boolean | undefined {
  for (const folder of entries(files, "/sys/class/hwmon", "hwmon")) {
    if (wordIn(files, `${folder}/name`) !== "rpi_volt") continue;
    const alarm = numberIn(files, `${folder}/in0_lcrit_alarm`);
    return alarm === undefined ? undefined : alarm !== 0;
  }
  return undefined;
}

/** The value of get_throttled, a hexadecimal string such as "50005" or "0x50005". Its path depends on the kernel. */
function throttledBits(files: BoardFiles): number | undefined {
  const platform = "/sys/devices/platform";
  for (const soc of files.names(platform).filter((name) => name.startsWith("soc"))) {
    for (const firmware of files.names(`${platform}/${soc}`).filter((name) => name.endsWith("firmware"))) {
      const text = wordIn(files, `${platform}/${soc}/${firmware}/get_throttled`);
      if (text !== undefined && /^(0x)?[0-9a-f]{1,8}$/i.test(text)) return Number.parseInt(text, 16);
    }
  }
  return undefined;
}

const maxRails = 16;

/** The power of each rail that a Jetson's power monitors (ina3221) measure. */
export function railReadings(files: BoardFiles): readonly RailReading[] {
  const rails: RailReading[] = [];
  for (const folder of entries(files, "/sys/class/hwmon", "hwmon")) {
    if (wordIn(files, `${folder}/name`) !== "ina3221") continue;
    for (const channel of [1, 2, 3]) {
      const millivolts = numberIn(files, `${folder}/in${channel}_input`);
      const milliamperes = numberIn(files, `${folder}/curr${channel}_input`);
      if (millivolts === undefined || milliamperes === undefined || rails.length >= maxRails) continue;
      const label = wordIn(files, `${folder}/in${channel}_label`) ?? `channel ${channel}`;
      rails.push({ label, milliwatts: Math.round((millivolts * milliamperes) / 1000) });
    }
  }
  return rails;
}

/** True if a power monitor reports a current above its critical limit. */
export function overcurrent(files: BoardFiles): boolean {
  return entries(files, "/sys/class/hwmon", "hwmon").some(
    (folder) =>
      wordIn(files, `${folder}/name`) === "ina3221" &&
      [1, 2, 3].some((channel) => numberIn(files, `${folder}/curr${channel}_crit_alarm`) === 1),
  );
}
