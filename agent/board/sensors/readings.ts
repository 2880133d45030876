import type { Instant } from "../../base/clock.ts";

/** Conditions of power supply and processor speed that a Raspberry Pi's firmware reports. */
export type PowerSign = "undervoltage" | "frequency-capped" | "throttled" | "soft-temperature-limit";

export interface PowerReading {
  readonly now: readonly PowerSign[];
  /** The signs that occurred since the board was powered on, according to its firmware. */
  readonly sinceBoot: readonly PowerSign[];
}

export interface TemperatureReading {
  /** The hottest thermal zone of the processor: "cpu-thermal". */
  readonly zone: string;
  readonly celsius: number;
  /** In degrees Celsius: the lowest trip point at which the kernel slows the board down; undefined if there is none. */
  readonly slowsAt: number | undefined;
  /** In degrees Celsius: the trip point at which the kernel switches the board off; undefined if there is none. */
  readonly stopsAt: number | undefined;
}

export interface StorageReading {
  /** The disk, such as "mmcblk0"; undefined if there is no block device, or if it is unknown. */
  readonly device: string | undefined;
  readonly kind: "sd" | "emmc" | "nvme" | "ssd" | "disk" | "volatile" | "unknown";
  /** The type of the file system: "ext4", "overlay"; undefined if unknown. */
  readonly fileSystem: string | undefined;
  /** Whether the content is in memory and is lost when the board restarts. */
  readonly isVolatile: boolean;
  readonly isReadOnly: boolean;
  readonly freeBytes: number | undefined;
  /** The wear of the medium; undefined for media that do not report it. */
  readonly wear: WearReading | undefined;
}

/** The wear of an eMMC, which reports it from version 5.0 on. */
export interface WearReading {
  /** The used share of the rated life in percent, rounded up to 10, 20, … 100. 110 means more than the rated life. */
  readonly usedPercent: number | undefined;
  /** The state of the reserve blocks: 80 % used (warning), 90 % used (urgent). */
  readonly reserve: "normal" | "warning" | "urgent" | undefined;
}

/** The share of the last ten seconds in which at least one task waited for this resource, in percent. */
export interface PressureReading {
  readonly memory: number | undefined;
  readonly io: number | undefined;
}

/** A supply rail measured by a Jetson's power monitor. */
export interface RailReading {
  readonly label: string;
  readonly milliwatts: number;
}

/** The values of the board's sensors at an instant. Those of sensors that the board lacks are undefined. */
export interface BoardReadings {
  readonly at: Instant;
  readonly power: PowerReading | undefined;
  readonly temperature: TemperatureReading | undefined;
  readonly rails: readonly RailReading[];
  /** Whether a power monitor reports a current above its critical limit. */
  readonly isOvercurrent: boolean;
  readonly storage: StorageReading;
  readonly pressure: PressureReading;
  readonly load1: number | undefined;
  /** False if memory limits in systemd units have no effect; undefined if unknown. */
  readonly hasMemoryCgroup: boolean | undefined;
  /** Bytes that this process has written to disk since it started. */
  readonly writtenBytes: number | undefined;
}
