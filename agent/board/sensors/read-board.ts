import type { Instant } from "../../base/clock.ts";
import type { BoardFiles } from "./board-files.ts";
import type { Mount } from "./mount.ts";
import { overcurrent, powerReading, railReadings } from "./power.ts";
import { hasMemoryCgroup, load1, pressureReading, writtenBytes } from "./pressure.ts";
import type { BoardReadings } from "./readings.ts";
import { storageReading } from "./storage-device.ts";
import { temperatureReading } from "./thermal.ts";

/** Reads every sensor once. `folder`: the state folder, whose storage is examined; `mount`: its mount, if known. */
export const readBoard = (files: BoardFiles, folder: string, at: Instant, mount?: Mount): BoardReadings => ({
  at,
  power: powerReading(files),
  temperature: temperatureReading(files),
  rails: railReadings(files),
  isOvercurrent: overcurrent(files),
  storage: storageReading(files, folder, mount),
  pressure: pressureReading(files),
  load1: load1(files),
  hasMemoryCgroup: hasMemoryCgroup(files),
  writtenBytes: writtenBytes(files),
});
