import { readFileSync } from "node:fs";
import path from "node:path";
import { replaceDurably } from "./durable-file.ts";
import { blank, decodeRecord, encodeRecord, type RemoteRecord, started } from "./remote-record.ts";

const fileIn = (folder: string): string => path.join(folder, "remote.json");

/**
 * What the fleet has set, in the state folder. A file beside the databases: it is read before they are opened, because it
 * decides how, and by commands that must not open them.
 */
export function readRemote(folder: string): RemoteRecord {
  try {
    return decodeRecord(readFileSync(fileIn(folder), "utf8")) ?? blank;
  } catch {
    // None yet, or none that we may read: this board's own settings are what it has.
    return blank;
  }
}

/** A power cut leaves the former record or this one. */
export const writeRemote = (folder: string, record: RemoteRecord): void =>
  replaceDurably(fileIn(folder), encodeRecord(record), 0o600);

/**
 * A process begins with what is there. That is counted before anything of a trial is used: if the trial ends this process
 * too, the next but one goes back by itself. Where it cannot be counted, the trial is left out.
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
