import { readFileSync } from "node:fs";
import path from "node:path";
import { replaceDurably } from "./durable-file.ts";
import { blank, decodeRecord, encodeRecord, type RemoteRecord, started } from "./remote-record.ts";

const fileIn = (folder: string): string => path.join(folder, "remote.json");

/**
 * The fleet's settings, in the state folder. They are a file beside the databases because they decide how these are
 * opened, and because commands read them that must not open the databases.
 */
export function readRemote(folder: string): RemoteRecord {
  try {
    return decodeRecord(readFileSync(fileIn(folder), "utf8")) ?? blank;
  } catch {
    // None yet, or an unreadable one: this board's own settings apply.
    return blank;
  }
}

/** A power cut leaves the former record or this one. */
export const writeRemote = (folder: string, record: RemoteRecord): void =>
  replaceDurably(fileIn(folder), encodeRecord(record), 0o600);

/**
 * Reads the record for a new process. A start with a trial is counted before the trial is used: if it ends this process
 * too, the next but one rolls back by itself. If it cannot be counted, the trial is left out.
 */
export function startRemote(folder: string): RemoteRecord {
  const record = readRemote(folder);
  const next = started(record);
  if (next === record) return record;
  try {
    writeRemote(folder, next);
    return next;
  } catch {
    return { ...record, trial: undefined };
  }
}
