import type { Millis } from "../base/clock.ts";

/** Reads a text file below /proc or /sys; `undefined` if this machine has none. Tests answer from a table. */
export type ReadFact = (file: string) => string | undefined;

/** Identifies this boot of the machine: times of the monotonic clock mean nothing in another boot. */
export const bootId = (read: ReadFact): string => read("/proc/sys/kernel/random/boot_id")?.trim() ?? "unknown";

/**
 * Identifies this hardware, wherever its storage is moved; undefined: it has no name of its own. Never read from the
 * storage, as /etc/machine-id is: a cloned card would bring it along.
 */
export function hardware(read: ReadFact): string | undefined {
  for (const file of ["/sys/firmware/devicetree/base/serial-number", "/sys/class/dmi/id/product_uuid"]) {
    const name = read(file)?.replaceAll("\0", "").trim();
    if (name) return name;
  }
  return undefined;
}

/** Time since the machine started, suspends included. Every process of the board reads the same clock. */
export function bootClock(read: ReadFact): Millis | undefined {
  const seconds = Number.parseFloat(read("/proc/uptime") ?? "");
  return Number.isFinite(seconds) ? Math.round(seconds * 1000) : undefined;
}

/** The device tree's names of the board, the most specific first. Empty on machines without a device tree. */
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
  /** Private memory: the agent's real cost. The rest of the RSS is pages of files, which the kernel can drop. */
  readonly anonymousBytes: number | undefined;
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
