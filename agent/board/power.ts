import { type BoardFiles, entries, numberIn, wordIn } from "./board-files.ts";
import type { PowerReading, PowerSign, RailReading } from "./readings.ts";

/** The bits of the firmware's get_throttled; those of the past are 16 positions higher. */
const signs: readonly PowerSign[] = ["undervoltage", "frequency-capped", "throttled", "soft-temperature-limit"];
const past = 16;

/**
 * Power of a Raspberry Pi. The kernel's own alarm (hwmon `rpi_volt`) decides about undervoltage, the firmware's bits
 * about the rest. vcgencmd would need /dev/vcio, which the sandbox hides. Undefined: this board reports neither.
 */
export function powerReading(files: BoardFiles): PowerReading | undefined {
  const alarm = undervoltageAlarm(files);
  const bits = throttledBits(files);
  if (alarm === undefined && bits === undefined) return undefined;
  const told = bits ?? 0;
  const now = signs.filter((sign, bit) => (sign === "undervoltage" && alarm !== undefined ? alarm : (told >> bit) & 1));
  return { now, sinceBoot: signs.filter((_, bit) => (told >> (past + bit)) & 1) };
}

function undervoltageAlarm(files: BoardFiles): boolean | undefined {
  for (const folder of entries(files, "/sys/class/hwmon", "hwmon")) {
    if (wordIn(files, `${folder}/name`) !== "rpi_volt") continue;
    const alarm = numberIn(files, `${folder}/in0_lcrit_alarm`);
    return alarm === undefined ? undefined : alarm !== 0;
  }
  return undefined;
}

/** "50005", in hexadecimal with or without 0x. Its path differs by kernel. */
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

const mostRails = 16;

/** The rails that a Jetson's power monitors (ina3221) measure: millivolts times milliamperes. */
export function railReadings(files: BoardFiles): readonly RailReading[] {
  const rails: RailReading[] = [];
  for (const folder of entries(files, "/sys/class/hwmon", "hwmon")) {
    if (wordIn(files, `${folder}/name`) !== "ina3221") continue;
    for (const channel of [1, 2, 3]) {
      const volts = numberIn(files, `${folder}/in${channel}_input`);
      const amperes = numberIn(files, `${folder}/curr${channel}_input`);
      if (volts === undefined || amperes === undefined || rails.length >= mostRails) continue;
      const label = wordIn(files, `${folder}/in${channel}_label`) ?? `channel ${channel}`;
      rails.push({ label, milliwatts: Math.round((volts * amperes) / 1000) });
    }
  }
  return rails;
}

/** A power monitor reports more current than the board is made for. */
export function overcurrent(files: BoardFiles): boolean {
  return entries(files, "/sys/class/hwmon", "hwmon").some(
    (folder) =>
      wordIn(files, `${folder}/name`) === "ina3221" &&
      [1, 2, 3].some((channel) => numberIn(files, `${folder}/curr${channel}_crit_alarm`) === 1),
  );
}
