import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
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

/** On disk as a whole when it returns; a power cut leaves the former one or this one. */
export function writeRemote(folder: string, record: RemoteRecord): void {
  const [file, beside] = [fileIn(folder), path.join(folder, ".remote.json.tmp")];
  const handle = openSync(beside, "w", 0o600);
  try {
    writeFileSync(handle, encodeRecord(record));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(beside, file);
  const above = openSync(folder, "r");
  try {
    fsyncSync(above);
  } finally {
    closeSync(above);
  }
}

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
