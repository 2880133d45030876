import { readFileSync, statSync } from "node:fs";
import type { Millis } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import { bootClock, bootId } from "../../board/facts.ts";
import { readFact } from "../../board/read-fact.ts";
import { codeOf } from "../../config/read-text.ts";
import { readStatus, type Status } from "../../status/schema.ts";

/** State of an agent according to its status file. */
export type Finding =
  | { readonly kind: "fresh"; readonly status: Status; readonly age: Millis }
  | { readonly kind: "stale"; readonly status: Status; readonly age: Millis | undefined; readonly why: string }
  | { readonly kind: "absent"; readonly why: string }
  | { readonly kind: "unreadable"; readonly why: string };

/** The machine that reads the file. */
export interface Reader {
  readonly bootId: string;
  readonly bootMs: Millis | undefined;
  isAlive(pid: number): boolean;
}

/** In bytes; a thousand times the usual size. */
const largestFile = 4 * 2 ** 20;

export function findStatus(file: string, reader: Reader): Finding {
  let source: string;
  try {
    const found = statSync(file);
    if (!found.isFile()) return { kind: "unreadable", why: `${file} is not a file` };
    if (found.size > largestFile) return { kind: "unreadable", why: `${file} is too large to be a status file` };
    source = readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { kind: "absent", why: `there is no ${file}` };
    const why = codeOf(error) === "EACCES" ? "no permission" : error instanceof Error ? error.message : String(error);
    return { kind: "unreadable", why: `${file} cannot be read: ${why}` };
  }
  const status = readStatus(source);
  if (typeof status === "string") return { kind: "unreadable", why: `${file} cannot be understood: ${status}` };
  return judged(status, reader);
}

/**
 * Decides between fresh and stale by boot id, boot clock and process. The wall clock may have jumped by years since the
 * file was written.
 */
export function judged(status: Status, reader: Reader): Finding {
  if (status.bootId !== reader.bootId)
    return { kind: "stale", status, age: undefined, why: "the agent did not come back" };
  const age = reader.bootMs === undefined ? undefined : Math.max(0, reader.bootMs - status.writtenBootMs);
  if (!reader.isAlive(status.pid)) return { kind: "stale", status, age, why: `pid ${status.pid} gone` };
  if (age === undefined) return { kind: "stale", status, age, why: "this machine does not tell its boot clock" };
  if (age > status.staleAfterMs)
    return {
      kind: "stale",
      status,
      age,
      why: `pid ${status.pid} is there but hangs; its limit is ${formatDuration(status.staleAfterMs)}`,
    };
  return { kind: "fresh", status, age };
}

export const thisMachine = (): Reader => ({ bootId: bootId(readFact), bootMs: bootClock(readFact), isAlive });

/** Signal 0 only tests for existence; EPERM means that the process exists. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
