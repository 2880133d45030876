import { isRecord, type JsonRecord, recordIn } from "../base/json.ts";

/**
 * The highest accepted version of a document; large enough for milliseconds since 1970. A board accepts only versions
 * higher than the last, so without this limit an absurdly high one, sent by mistake, would block all later ones.
 */
export const maxVersion = 999_999_999_999_999;

/** A stored document with fleet settings. */
export interface Kept {
  readonly version: number;
  /** The hash of the bytes of `config` as received. */
  readonly hash: string;
  readonly config: JsonRecord;
}

/** Why a document, or one of its settings, was not accepted. */
export interface Fault {
  /** JSON pointer into `config`; "" for the document as a whole. */
  readonly path: string;
  readonly code:
    | "schema"
    | "unknown-key"
    | "locked"
    | "unsupported"
    | "unhealthy"
    | "by-command"
    | "not-stored"
    | "forbidden"
    | "signature-missing"
    | "signature-unknown-key"
    | "signature-invalid";
  readonly message?: string;
}

/** Whether this board's election, API connection and broker connection work. */
export interface Vitals {
  readonly lease: boolean;
  readonly api: boolean;
  readonly mqtt: boolean;
}

/** Settings that are in force, and will be rolled back if anything in `before` stops working. */
export interface Trial {
  readonly document: Kept;
  /** How long the trial lasts, in milliseconds. */
  readonly canaryMs: number;
  /** The state before the trial. Everything that worked then must work at the end of the trial. */
  readonly before: Vitals;
  /** The number of processes that have started with these settings. */
  readonly starts: number;
}

/** Why the newest document is not in force. */
export interface RemoteRejection {
  readonly version: number | undefined;
  readonly hash: string;
  readonly state: "rejected" | "rolled-back";
  readonly faults: readonly Fault[];
}

/** Everything that is stored about the fleet's settings: the content of one file, which is replaced as a whole. */
export interface RemoteRecord {
  /** The newest document received, even if it was rejected. */
  readonly desired: Kept | undefined;
  /** The document that is on trial, and in force; undefined if there is no trial. */
  readonly trial: Trial | undefined;
  /** The last document that passed its trial; in force unless another is on trial. */
  readonly current: Kept | undefined;
  /** Documents that passed their trial before `current`, newest first. */
  readonly good: readonly Kept[];
  /** Why `desired` is not in force; undefined if it is in force, or if there is no such document. */
  readonly verdict: RemoteRejection | undefined;
  /**
   * Why the record of the previous settings was lost; undefined if it was not. Where and when this board may act is
   * then unknown until other settings have passed their trial, or a command returns to the board's own files.
   */
  readonly lost: string | undefined;
}

export const blank: RemoteRecord = {
  desired: undefined,
  trial: undefined,
  current: undefined,
  good: [],
  verdict: undefined,
  lost: undefined,
};

const maxGood = 3;
/**
 * The number of processes that may start with settings on trial; the next one rolls them back. More than one, because a
 * power cut may have ended the first.
 */
const maxStarts = 2;

/** The fleet's settings that apply on top of the board's own. */
export const inForce = ({ trial, current }: RemoteRecord): Kept | undefined => trial?.document ?? current;

/** The record after a trial has begun. */
export const recordTrial = (record: RemoteRecord, trial: Omit<Trial, "starts">): RemoteRecord => ({
  ...record,
  trial: { ...trial, starts: 0 },
  verdict: undefined,
});

export const recordRejection = (record: RemoteRecord, verdict: RemoteRejection): RemoteRecord => ({
  ...record,
  verdict,
});

/** The record after the document has passed its trial. The previous `current` becomes a version to return to. */
export const commitTrial = (record: RemoteRecord, document: Kept): RemoteRecord => ({
  ...record,
  trial: undefined,
  current: document,
  good: record.current ? [record.current, ...record.good].slice(0, maxGood) : record.good,
  verdict: undefined,
  lost: undefined,
});

/** The record after a trial was ended because it did harm. `why`: the reason, reported to the fleet. */
export function rollBack(record: RemoteRecord, why: string): RemoteRecord {
  const { trial } = record;
  if (!trial) return record;
  const { version, hash } = trial.document;
  const faults = [{ path: "", code: "unhealthy", message: why }] as const;
  return { ...record, trial: undefined, verdict: { version, hash, state: "rolled-back", faults } };
}

/** The version that stands for the board's own files alone, without settings of the fleet. */
export const ownFiles = 0;

/**
 * The record after a return to a version that passed its trial, by default the last one; undefined if there is no such
 * version. The newest document is marked as rolled back, so that it is not tried again.
 */
export function returnTo(record: RemoteRecord, to: number | undefined): RemoteRecord | undefined {
  const { trial, current, desired } = record;
  // During a trial, the last good version is the one that was in force before it.
  const good = trial && current ? [current, ...record.good] : record.good;
  const version = to ?? good[0]?.version ?? (trial ? ownFiles : undefined);
  const target = good.find((one) => one.version === version);
  const hasOthers = inForce(record) !== undefined || record.lost !== undefined;
  const isBack = target !== undefined || (version === ownFiles && hasOthers);
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
    lost: to === undefined ? record.lost : undefined,
  };
}

/**
 * The record after one more process start. During a trial, starts are counted; after too many (`maxStarts`), the trial
 * is rolled back.
 */
export function recordStart(record: RemoteRecord): RemoteRecord {
  const { trial } = record;
  if (!trial) return record;
  if (trial.starts >= maxStarts) return rollBack(record, "the agent ended more than once during the trial");
  return { ...record, trial: { ...trial, starts: trial.starts + 1 } };
}

export const encodeRecord = (record: RemoteRecord): string => JSON.stringify({ v: 1, ...record });

/** Parses the record; undefined if it is damaged, or of an unknown format. */
export function decodeRecord(text: string): RemoteRecord | undefined {
  const value = recordIn(text);
  if (value?.v !== 1) return undefined;
  const { desired, trial, current, good = [], verdict, lost } = value;
  const documents = [desired, current, ...(Array.isArray(good) ? good : [{}])];
  if (!documents.every((one) => one === undefined || isKept(one))) return undefined;
  if (trial !== undefined && !isTrial(trial)) return undefined;
  // A damaged `verdict` is left out; damaged documents make the whole record unusable.
  return {
    ...blank,
    desired,
    trial,
    current,
    good,
    verdict: isVerdict(verdict) ? verdict : undefined,
    lost: typeof lost === "string" ? lost : undefined,
  } as RemoteRecord;
}

const isTrial = (value: unknown): value is Trial =>
  isRecord(value) &&
  isKept(value.document) &&
  Number.isFinite(value.canaryMs) &&
  Number.isSafeInteger(value.starts) &&
  isRecord(value.before);

const isVerdict = (value: unknown): value is RemoteRejection =>
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
