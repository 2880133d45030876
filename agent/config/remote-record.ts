import { isRecord, type JsonRecord, recordIn } from "../base/json.ts";

/**
 * The largest number of a document: enough for milliseconds since 1970. A board accepts only documents newer than the
 * last, so after the largest number that JSON carries, sent by mistake, it would never accept another.
 */
export const largestVersion = 999_999_999_999_999;

/** One document of the fleet: its settings, its number, and the hash of the bytes of `config`. */
export interface Kept {
  readonly version: number;
  readonly hash: string;
  readonly config: JsonRecord;
}

export interface Fault {
  /** JSON pointer into `config`; "" for the document as a whole. */
  readonly path: string;
  readonly code: "schema" | "unknown-key" | "locked" | "unsupported" | "unhealthy" | "by-command" | "not-stored";
  readonly message?: string;
}

/** The parts that worked before a trial: each of them must work at its end. */
export interface Vitals {
  readonly lease: boolean;
  readonly api: boolean;
  readonly mqtt: boolean;
}

export interface Trial {
  readonly document: Kept;
  readonly canaryMs: number;
  readonly before: Vitals;
  /** Processes that began with it. One of them may end through a power cut, which is not the trial's fault. */
  readonly starts: number;
}

/** Why the newest document is not in force. */
export interface Verdict {
  readonly version: number | undefined;
  readonly hash: string;
  readonly state: "rejected" | "rolled-back";
  readonly faults: readonly Fault[];
}

/** All data about the fleet's settings that must survive: one file, replaced as a whole. */
export interface RemoteRecord {
  /** The newest document, in force or not. */
  readonly desired: Kept | undefined;
  /** On trial, and in force meanwhile. */
  readonly trial: Trial | undefined;
  /** In force, and found good. */
  readonly current: Kept | undefined;
  /** Found good before that, newest first. */
  readonly good: readonly Kept[];
  readonly verdict: Verdict | undefined;
}

export const blank: RemoteRecord = {
  desired: undefined,
  trial: undefined,
  current: undefined,
  good: [],
  verdict: undefined,
};

const mostGood = 3;
/** The third process that begins with the same trial has seen two of them end. */
const mostStarts = 2;

/** The fleet's settings that apply on top of the board's own. */
export const inForce = ({ trial, current }: RemoteRecord): Kept | undefined => trial?.document ?? current;

export const tried = (record: RemoteRecord, trial: Omit<Trial, "starts">): RemoteRecord => ({
  ...record,
  trial: { ...trial, starts: 0 },
  verdict: undefined,
});

export const rejected = (record: RemoteRecord, verdict: Verdict): RemoteRecord => ({ ...record, verdict });

/** Keeps the document; the one in force before becomes a version to go back to. */
export const committed = (record: RemoteRecord, document: Kept): RemoteRecord => ({
  ...record,
  trial: undefined,
  current: document,
  good: record.current ? [record.current, ...record.good].slice(0, mostGood) : record.good,
  verdict: undefined,
});

export function rolledBack(record: RemoteRecord, why: string): RemoteRecord {
  const { trial } = record;
  if (!trial) return record;
  const { version, hash } = trial.document;
  const faults = [{ path: "", code: "unhealthy", message: why }] as const;
  return { ...record, trial: undefined, verdict: { version, hash, state: "rolled-back", faults } };
}

/** Stands for the time before the first document: the board's own files alone. */
export const ownFiles = 0;

/**
 * Goes back to a good version, by default the last one; the newest document is not accepted again by itself.
 * `undefined`: there is no such version.
 */
export function returned(record: RemoteRecord, to: number | undefined): RemoteRecord | undefined {
  const { trial, current, desired } = record;
  // A document on trial is not good yet: the last good one was in force before it.
  const good = trial && current ? [current, ...record.good] : record.good;
  const version = to ?? good[0]?.version ?? (trial ? ownFiles : undefined);
  const target = good.find((one) => one.version === version);
  const isBack = target !== undefined || (version === ownFiles && inForce(record) !== undefined);
  if (!isBack) return undefined;
  return {
    ...record,
    trial: undefined,
    current: target,
    good: good.filter((one) => target !== undefined && one.version < target.version),
    verdict: desired && {
      version: desired.version,
      hash: desired.hash,
      state: "rolled-back",
      faults: [{ path: "", code: "by-command" }],
    },
  };
}

/** A process begins. A trial that has ended several processes is rolled back. */
export function started(record: RemoteRecord): RemoteRecord {
  const { trial } = record;
  if (!trial) return record;
  if (trial.starts >= mostStarts) return rolledBack(record, "the agent ended while it was on trial, more than once");
  return { ...record, trial: { ...trial, starts: trial.starts + 1 } };
}

export const encodeRecord = (record: RemoteRecord): string => JSON.stringify({ v: 1, ...record });

/** `undefined`: not a record that this version understands. */
export function decodeRecord(text: string): RemoteRecord | undefined {
  const value = recordIn(text);
  if (value?.v !== 1) return undefined;
  const { desired, trial, current, good = [], verdict } = value;
  const documents = [desired, current, ...(Array.isArray(good) ? good : [{}])];
  if (!documents.every((one) => one === undefined || isKept(one))) return undefined;
  if (trial !== undefined && !isTrial(trial)) return undefined;
  // The verdict about the newest document may be missing; the documents in force may not.
  return { ...blank, desired, trial, current, good, verdict: isVerdict(verdict) ? verdict : undefined } as RemoteRecord;
}

const isTrial = (value: unknown): value is Trial =>
  isRecord(value) &&
  isKept(value.document) &&
  Number.isFinite(value.canaryMs) &&
  Number.isSafeInteger(value.starts) &&
  isRecord(value.before);

const isVerdict = (value: unknown): value is Verdict =>
  isRecord(value) &&
  (value.version === undefined || Number.isSafeInteger(value.version)) &&
  typeof value.hash === "string" &&
  (value.state === "rejected" || value.state === "rolled-back") &&
  Array.isArray(value.faults) &&
  value.faults.every(isFault);

const isFault = (value: unknown): value is Fault =>
  isRecord(value) &&
  typeof value.path === "string" &&
  typeof value.code === "string" &&
  (value.message === undefined || typeof value.message === "string");

const isKept = (value: unknown): value is Kept =>
  isRecord(value) && Number.isSafeInteger(value.version) && typeof value.hash === "string" && isRecord(value.config);
