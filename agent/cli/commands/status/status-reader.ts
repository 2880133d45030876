import { readFileSync, statSync } from "node:fs";
import type { Millis } from "../../../base/clock.ts";
import { formatDuration } from "../../../base/time/duration.ts";
import { bootClock, bootId } from "../../../board/facts.ts";
import { readFact } from "../../../board/read-fact.ts";
import { codeOf } from "../../../config/read-text.ts";
import { readStatus, type Status } from "../../../status/schema.ts";

/**
 * The agent's status file, and whether it shows that the agent is running. `age`: the time since the file was written.
 */
export type StatusFinding =
  | { readonly kind: "fresh"; readonly status: Status; readonly age: Millis }
  | { readonly kind: "stale"; readonly status: Status; readonly age: Millis | undefined; readonly why: string }
  | { readonly kind: "absent"; readonly why: string }
  | { readonly kind: "unreadable"; readonly why: string };

/** Facts of the machine on which the file is read. */
export interface ReadingBoard {
  readonly bootId: string;
  /** Time since the boot in milliseconds; undefined if unknown. */
  readonly bootMs: Millis | undefined;
  isAlive(pid: number): boolean;
}

/** Maximum size of a status file, in bytes: a thousand times the usual one. */
const maxFileBytes = 4 * 2 ** 20;

export function findStatus(file: string, reader: ReadingBoard): StatusFinding {
  let source: string;
  try {
    const found = statSync(file);
    if (!found.isFile()) return { kind: "unreadable", why: `${file} is not a file` };
    if (found.size > maxFileBytes) return { kind: "unreadable", why: `${file} is too large to be a status file` };
    source = readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { kind: "absent", why: `there is no ${file}` };
    const why = codeOf(error) === "EACCES" ? "no permission" : error instanceof Error ? error.message : String(error);
    return { kind: "unreadable", why: `${file} cannot be read: ${why}` };
  }
  const status = readStatus(source);
  if (typeof status === "string") return { kind: "unreadable", why: `${file} is not a valid status file: ${status}` };
  return judgeFreshness(status, reader);
}

/**
 * Decides whether the status is fresh or stale. Uses the boot id, the boot clock and the process id, not the wall
 * clock, which may have jumped by years since the file was written.
 */
export function judgeFreshness(status: Status, reader: ReadingBoard): StatusFinding {
  if (status.bootId !== reader.bootId)
    return { kind: "stale", status, age: undefined, why: "the agent has not started since" };
  const age = reader.bootMs === undefined ? undefined : Math.max(0, reader.bootMs - status.writtenBootMs);
  if (!reader.isAlive(status.pid)) return { kind: "stale", status, age, why: `pid ${status.pid} gone` };
  if (age === undefined) return { kind: "stale", status, age, why: "this machine does not report its boot clock" };
  if (age > status.staleAfterMs)
    return {
      kind: "stale",
      status,
      age,
      why: `pid ${status.pid} exists but hangs; its status is stale after ${formatDuration(status.staleAfterMs)}`,
    };
  return { kind: "fresh", status, age };
}

/** Whether the process that wrote the status has ended; otherwise it runs or hangs. */
export const hasEnded = ({ bootId, pid }: Status, reader: ReadingBoard): boolean =>
  bootId !== reader.bootId || !reader.isAlive(pid);

export const thisMachine = (): ReadingBoard => ({ bootId: bootId(readFact), bootMs: bootClock(readFact), isAlive });

/** Signal 0 only checks that the process exists. EPERM also means that it does. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
