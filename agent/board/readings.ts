import type { Instant } from "../base/clock.ts";

/** The kernel's reports on the power and the clock speed of the board. */
export type PowerSign = "undervoltage" | "frequency-capped" | "throttled" | "soft-temperature-limit";

export interface PowerReading {
  readonly now: readonly PowerSign[];
  /** Remembered by the firmware since its start. */
  readonly sinceBoot: readonly PowerSign[];
}

export interface TemperatureReading {
  /** "cpu-thermal": the hottest of the zones that cool the processor. */
  readonly zone: string;
  readonly celsius: number;
  /** The lowest trip point at which the kernel slows the board down, and the one at which it switches it off. */
  readonly slowsAt: number | undefined;
  readonly stopsAt: number | undefined;
}

export interface StorageReading {
  /** "mmcblk0"; undefined: no device of its own. */
  readonly device: string | undefined;
  readonly kind: "sd" | "emmc" | "nvme" | "ssd" | "disk" | "volatile" | "unknown";
  /** Of the file system: "ext4", "overlay". */
  readonly fileSystem: string | undefined;
  /** Writes are lost with a restart of the board. */
  readonly isVolatile: boolean;
  readonly isReadOnly: boolean;
  readonly freeBytes: number | undefined;
  readonly wear: WearReading | undefined;
}

/** Of eMMC from version 5.0 on; no other card reports it. */
export interface WearReading {
  /** Percent of the life that is used up, at most: 10, 20, … 100; above 100: more than was promised. */
  readonly usedPercent: number | undefined;
  /** normal, or how much of the reserve is used: 80 % (warning), 90 % (urgent). */
  readonly reserve: "normal" | "warning" | "urgent" | undefined;
}

/** Percent of the last ten seconds in which at least one task waited. */
export interface PressureReading {
  readonly memory: number | undefined;
  readonly io: number | undefined;
}

/** A rail of a Jetson's power monitor. */
export interface RailReading {
  readonly label: string;
  readonly milliwatts: number;
}

/** The board's sensors at an instant. A part that this board does not have is undefined. */
export interface BoardReadings {
  readonly at: Instant;
  readonly power: PowerReading | undefined;
  readonly temperature: TemperatureReading | undefined;
  readonly rails: readonly RailReading[];
  /** A power monitor raises its alarm. */
  readonly isOvercurrent: boolean;
  readonly storage: StorageReading;
  readonly pressure: PressureReading;
  readonly load1: number | undefined;
  /** False: memory limits in systemd units have no effect. Undefined: not known here. */
  readonly hasMemoryCgroup: boolean | undefined;
  /** Bytes that this process wrote to disk since its start. */
  readonly writtenBytes: number | undefined;
}
