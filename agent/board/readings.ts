import type { Instant } from "../base/clock.ts";

/** What the kernel says of the power and the clock speed of the board. */
export type PowerSign = "undervoltage" | "frequency-capped" | "throttled" | "soft-temperature-limit";

export interface PowerReading {
  readonly now: readonly PowerSign[];
  /** What the firmware remembers since it started. */
  readonly sinceBoot: readonly PowerSign[];
}

export interface TemperatureReading {
  /** "cpu-thermal": the hottest of the zones that cool the processor. */
  readonly zone: string;
  readonly celsius: number;
  /** The lowest trip point at which the kernel slows the board down, and the one at which it is switched off. */
  readonly slowsAt: number | undefined;
  readonly stopsAt: number | undefined;
}

export interface StorageReading {
  /** "mmcblk0"; undefined: no device of its own. */
  readonly device: string | undefined;
  readonly kind: "sd" | "emmc" | "nvme" | "ssd" | "disk" | "volatile" | "unknown";
  /** Of the file system: "ext4", "overlay". */
  readonly fileSystem: string | undefined;
  /** What is written is gone after a restart of the board. */
  readonly isVolatile: boolean;
  readonly isReadOnly: boolean;
  readonly freeBytes: number | undefined;
  readonly wear: WearReading | undefined;
}

/** Of eMMC from version 5.0 on; no other card tells. */
export interface WearReading {
  /** How much of the life is used up, at most: 10, 20, … 100; above 100: more than was promised. */
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

/** What the board's sensors say at an instant. A part that this board does not have is left out. */
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
  /** False: limits of memory that systemd was told have no effect. Undefined: not known here. */
  readonly hasMemoryCgroup: boolean | undefined;
  /** Written to disk by this process since it started. */
  readonly writtenBytes: number | undefined;
}
