import { copyFileSync } from "node:fs";
import path from "node:path";
import { replaceDurably } from "./durable-file.ts";
import { isMissing, readText } from "./read-text.ts";
import { blank, decodeRecord, encodeRecord, type RemoteRecord, recordStart } from "./remote-record.ts";

const fileIn = (folder: string): string => path.join(folder, "remote.json");
/** A copy of the file, written before it: both are damaged only if the card fails twice. */
const copyIn = (folder: string): string => path.join(folder, "remote.copy.json");
/** The last damaged file, kept for inspection. */
const asideIn = (folder: string): string => path.join(folder, "remote.json.damaged");

/**
 * In bytes: ten times the maximum size of the documents in the file. A larger file counts as damaged and is not read.
 */
const maxFileBytes = 4 * 1024 * 1024;

/** The fleet settings that a new process found in the state folder. */
export interface StartedRemote {
  readonly record: RemoteRecord;
  /** Where a damaged remote.json was moved; undefined if it was sound. */
  readonly setAside: string | undefined;
  /** True if remote.json was missing and was restored from its copy. */
  readonly isRestored: boolean;
}

/**
 * Reads the fleet's settings from the state folder: from the file or, if that is damaged, from its copy. They have a
 * separate file, because they are needed before the databases are opened, and by commands that must not open them.
 */
export const readRemote = (folder: string): RemoteRecord => found(folder).record;

/** Writes the record. After a power cut, either the previous record or this one is there. */
export function writeRemote(folder: string, record: RemoteRecord): void {
  const text = encodeRecord(record);
  for (const file of [copyIn(folder), fileIn(folder)]) replaceDurably(file, text, 0o600);
}

/**
 * Reads the record for a new process. A start with settings on trial is counted, and the count is stored, before they
 * are used, so that they are rolled back if several processes end while using them. If the count cannot be stored, the
 * settings on trial are not used. A damaged file is replaced and kept for inspection; a missing one, for example
 * removed by a file system check, is restored from its copy.
 */
export function startRemote(folder: string): StartedRemote {
  const { record, isDamaged, isAbsent } = found(folder);
  const next = recordStart(record);
  if (next === record && !isDamaged && !isAbsent) return { record, setAside: undefined, isRestored: false };
  const setAside = isDamaged ? keepDamaged(folder) : undefined;
  try {
    writeRemote(folder, next);
    return { record: next, setAside, isRestored: isAbsent };
  } catch {
    return { record: { ...record, trial: undefined }, setAside, isRestored: false };
  }
}

/** The record, and what is wrong with the file. `isAbsent`: whether the record is from the copy alone. */
function found(folder: string): {
  readonly record: RemoteRecord;
  readonly isDamaged: boolean;
  readonly isAbsent: boolean;
} {
  const main = readFrom(fileIn(folder));
  if (typeof main === "object") return { record: main, isDamaged: false, isAbsent: false };
  const copy = readFrom(copyIn(folder));
  const isDamaged = main !== undefined;
  if (typeof copy === "object") return { record: copy, isDamaged, isAbsent: !isDamaged };
  const lost = main ?? copy;
  return { record: lost === undefined ? blank : { ...blank, lost }, isDamaged, isAbsent: false };
}

/** The record in a file or, as a sentence, why it cannot be read; undefined if there is no file. */
function readFrom(file: string): RemoteRecord | string | undefined {
  if (isMissing(file)) return undefined;
  const source = readText(file, maxFileBytes);
  if ("problem" in source) return `${file} ${source.problem}`;
  return decodeRecord(source.text) ?? `${file} is damaged`;
}

/**
 * Copies the damaged file, which stays in place until it is replaced, because a board without this file counts as new.
 */
function keepDamaged(folder: string): string | undefined {
  try {
    copyFileSync(fileIn(folder), asideIn(folder));
    return asideIn(folder);
  } catch {
    return undefined;
  }
}
