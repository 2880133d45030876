import type { BoardFiles } from "./board-files.ts";
import type { PressureReading } from "./readings.ts";

/** Pressure stall information; its fields are undefined on kernels without it or started with psi=0. */
export const pressureReading = (files: BoardFiles): PressureReading => ({
  memory: some(files, "memory"),
  io: some(files, "io"),
});

function some(files: BoardFiles, of: "memory" | "io"): number | undefined {
  const percent = Number(/^some avg10=(\d{1,3}(?:\.\d+)?) /m.exec(files.read(`/proc/pressure/${of}`) ?? "")?.[1]);
  return Number.isFinite(percent) ? percent : undefined;
}

/** The load average of the last minute. */
export function load1(files: BoardFiles): number | undefined {
  const load = Number(/^(\d{1,6}(?:\.\d+)?) /.exec(files.read("/proc/loadavg") ?? "")?.[1]);
  return Number.isFinite(load) ? load : undefined;
}

/**
 * Whether the memory cgroup is enabled; undefined without a unified cgroup hierarchy. Raspberry Pi kernels disable it
 * by default, and /proc/cgroups does not show that reliably.
 */
export function hasMemoryCgroup(files: BoardFiles): boolean | undefined {
  const controllers = files.read("/sys/fs/cgroup/cgroup.controllers");
  return controllers?.trim().split(/\s+/).includes("memory");
}

/** Bytes that this process has written to disks since its start. */
export function writtenBytes(files: BoardFiles): number | undefined {
  const [, written, cancelled = "0"] =
    /^write_bytes: (\d{1,15})$(?:\s+^cancelled_write_bytes: (\d{1,15})$)?/m.exec(files.read("/proc/self/io") ?? "") ??
    [];
  return written === undefined ? undefined : Math.max(0, Number(written) - Number(cancelled));
}
