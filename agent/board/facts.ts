import type { Millis } from "../base/clock.ts";

/** Reads a text file below /proc or /sys; undefined if it cannot be read. Tests pass a function that reads a table. */
export type ReadFact = (file: string) => string | undefined;

/** The identifier of this boot of the machine: times of the monotonic clock are comparable only within one boot. */
export const bootId = (read: ReadFact): string => read("/proc/sys/kernel/random/boot_id")?.trim() ?? "unknown";

/**
 * The serial number of the hardware; undefined if the firmware provides none. Not /etc/machine-id, because that is on
 * the storage, so a cloned card would carry it to another board.
 */
export function hardware(read: ReadFact): string | undefined {
  for (const file of ["/sys/firmware/devicetree/base/serial-number", "/sys/class/dmi/id/product_uuid"]) {
    const name = read(file)?.replaceAll("\0", "").trim();
    if (name) return name;
  }
  return undefined;
}

/** Time since the machine started, including time in suspend, on a clock that all its processes share. */
export function bootClock(read: ReadFact): Millis | undefined {
  const seconds = Number.parseFloat(read("/proc/uptime") ?? "");
  return Number.isFinite(seconds) ? Math.round(seconds * 1000) : undefined;
}

/** The device tree's `compatible` names of the board, the most specific first. Empty without a device tree. */
export const compatibles = (read: ReadFact): readonly string[] =>
  (read("/sys/firmware/devicetree/base/compatible") ?? "").split("\0").filter((one) => one !== "");

export const model = (read: ReadFact): string | undefined =>
  read("/sys/firmware/devicetree/base/model")?.replaceAll("\0", "").trim() || undefined;

export function ramBytes(read: ReadFact): number | undefined {
  return kibibytes(read("/proc/meminfo"), "MemTotal");
}

/** Memory of the agent's own process. */
export interface ProcessMemory {
  readonly rssBytes: number | undefined;
  /** Anonymous memory. The rest of the RSS is mapped files, whose pages the kernel can drop. */
  readonly anonymousBytes: number | undefined;
  /** The highest RSS since the process started. */
  readonly peakBytes: number | undefined;
}

export function processMemory(read: ReadFact): ProcessMemory {
  const status = read("/proc/self/status");
  return {
    rssBytes: kibibytes(status, "VmRSS"),
    anonymousBytes: kibibytes(status, "RssAnon"),
    peakBytes: kibibytes(status, "VmHWM"),
  };
}

function kibibytes(text: string | undefined, field: string): number | undefined {
  const amount = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text ?? "")?.[1];
  return amount === undefined ? undefined : Number(amount) * 1024;
}
