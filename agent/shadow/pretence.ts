import { isSameJson } from "../api/json.ts";
import type { KubeObject } from "../api/meta.ts";
import { changesBetween, type Part, type PartChange, partOf, withPart } from "./parts.ts";

/**
 * What the writes of shadowed controllers would have made of an object. Each changed part stands as long as the real
 * part is as it was at that time: once it has changed, it says the same, or another program decided otherwise.
 */
export interface Pretence {
  readonly uid: string;
  readonly changes: readonly PartChange[];
  /** The object would no longer exist. */
  readonly isGone: boolean;
  /** The board of the object and its last sign of life that is known (`OverlaidSite`). */
  readonly lives: SignOfLife;
}

export interface SignOfLife {
  /** Undefined for a pod that is not bound. */
  readonly board: string | undefined;
  /** Only compared for change. */
  readonly sign: string;
}

/** The object as shadowed controllers see it; undefined if it would no longer exist. */
export function shownAs<T extends KubeObject>(pretence: Pretence, real: T): T | undefined {
  if (pretence.uid !== real.metadata.uid) return real;
  if (pretence.isGone) return undefined;
  return pretence.changes
    .filter((change) => stands(change, real))
    .reduce((object, change) => withPart(object, change, change.after), real);
}

/** What is pretended after a write that made `after` of the real object; undefined if that is the real state. */
export function pretenceOf(real: KubeObject, after: KubeObject | "gone", lives: SignOfLife): Pretence | undefined {
  const { uid } = real.metadata;
  if (after === "gone") return { uid, changes: [], isGone: true, lives };
  const changes = changesBetween(real, after);
  return changes.length === 0 ? undefined : { uid, changes, isGone: false, lives };
}

/** What is left of a pretence when the real object is known to be in this state; undefined if nothing is. */
export function leftOf(pretence: Pretence, real: KubeObject | undefined): Pretence | undefined {
  if (real === undefined || real.metadata.uid !== pretence.uid) return undefined;
  return kept(pretence, (change) => stands(change, real));
}

/** Without the pretended status: the board's kubelet lives, and would have reported the real one again. */
export const withoutStatus = (pretence: Pretence): Pretence | undefined =>
  kept(pretence, ({ section }) => section !== "status");

/** Without the pretended deletion. */
export const withoutDeletion = (pretence: Pretence): Pretence | undefined =>
  kept({ ...pretence, isGone: false }, (part) => !isOfDeletion(part));

function kept(pretence: Pretence, keeps: (change: PartChange) => boolean): Pretence | undefined {
  const changes = pretence.changes.filter(keeps);
  if (changes.length === 0 && !pretence.isGone) return undefined;
  return changes.length === pretence.changes.length ? pretence : { ...pretence, changes };
}

const stands = (change: PartChange, real: KubeObject): boolean => isSameJson(partOf(real, change), change.before);

/** Whether the object would be deleted, or is being deleted. */
export const isDeletion = ({ changes, isGone }: Pretence): boolean => isGone || changes.some(isOfDeletion);

const isOfDeletion = ({ section, member }: Part): boolean =>
  section === "metadata" && (member === "deletionTimestamp" || member === "deletionGracePeriodSeconds");
