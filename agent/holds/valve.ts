import { elapsed, type Instant, laterOf, type Millis, shifted } from "../base/clock.ts";
import { asRecord, recordIn, type UnknownFields } from "../base/json.ts";

/** The acts counted within the minute that begins at `at`. */
export interface CountedActs {
  readonly at: Instant;
  readonly count: number;
}

/**
 * The site's harmful acts of the last hour, which the safety valve limits (docs/judgement.md#safety-valve). They belong
 * to the site, not to a process, and are passed from leader to leader in an annotation of the site's Lease.
 */
export interface Valve {
  /** Oldest first. */
  readonly acts: readonly CountedActs[];
  /** Acts that were admitted but are not among `acts` yet, because they are about to be sent or are in flight. */
  readonly admitted: number;
  /** How many acts all leaders have ever admitted. The copy with more of them is the newer one. */
  readonly total: number;
  /**
   * Acts before this instant are unknown, so no more acts are admitted within an hour of it; undefined if all acts are
   * known.
   */
  readonly unknown: Instant | undefined;
  /** Unknown fields, written by a newer program; passed on unchanged. */
  readonly foreign: UnknownFields;
}

export const newValve: Valve = { acts: [], admitted: 0, total: 0, unknown: undefined, foreign: {} };

const minute: Millis = 60_000;
const hour: Millis = 3_600_000;
/**
 * How long an act is counted: at least an hour by the slowest clock of the site, regardless of when within its minute
 * it was done.
 */
const counts: Millis = 1.01 * hour + minute;

/** The valve with one more act that was done. */
export const withAct = (valve: Valve, now: Instant): Valve => ({ ...valve, acts: withOne(valve.acts, now) });

/** The valve without one of the acts that were counted at that instant, of which there is at least one. */
export const withoutAct = (valve: Valve, at: Instant): Valve => ({ ...valve, acts: withoutOne(valve.acts, at) });

/** The acts of the last hour, and one more. */
export function withOne(acts: readonly CountedActs[], now: Instant): readonly CountedActs[] {
  const counted = recent(acts, now);
  const last = counted.at(-1);
  if (last === undefined || elapsed(last.at, now) >= minute) return [...counted, { at: now, count: 1 }];
  return [...counted.slice(0, -1), { at: last.at, count: last.count + 1 }];
}

/** The acts without one of those that were counted at that instant. */
export const withoutOne = (acts: readonly CountedActs[], at: Instant): readonly CountedActs[] =>
  acts.flatMap((counted, index) => {
    const next = acts[index + 1];
    const isMeant = counted.at.mono <= at.mono && (next === undefined || at.mono < next.at.mono);
    if (!isMeant) return [counted];
    return counted.count > 1 ? [{ ...counted, count: counted.count - 1 }] : [];
  });

/** Whether an act that was counted at that instant is still counted. */
export const isCounted = (at: Instant, now: Instant): boolean => elapsed(at, now) < counts;

/** The number of acts of the last hour, including admitted ones, which may be done at any moment. */
export const actsWithin = ({ acts, admitted }: Pick<Valve, "acts" | "admitted">, now: Instant): number =>
  recent(acts, now).reduce((sum, { count }) => sum + count, admitted);

/** Whether the acts of the last hour are only partly known. */
export const isUnknown = ({ unknown }: Valve, now: Instant): boolean =>
  unknown !== undefined && isCounted(unknown, now);

/** How many more acts the limit permits now. Without a limit, it does not matter if acts are unknown. */
export const roomIn = (valve: Valve, limit: number, now: Instant): number =>
  isUnknown(valve, now) && limit < Number.POSITIVE_INFINITY ? 0 : Math.max(0, limit - actsWithin(valve, now));

/** The part of the limit that is kept for the taints of boards. */
const keptShare = 0.2;

/** How many of the acts within the limit are kept for the taints of boards: pods may not use them up. */
export const keptForTaints = (limit: number): number =>
  limit < Number.POSITIVE_INFINITY ? Math.floor(keptShare * limit) : 0;

/** A namespace's use of the acts on pods, and its share in them. */
export interface NamespaceShare {
  /** Its acts. */
  readonly used: number;
  /** The acts of all namespaces. */
  readonly usedByAll: number;
  /** Number of other namespaces that run pods and have used no act. */
  readonly idle: number;
  /** The part of the acts on pods that it may use, between 0 and 1. */
  readonly share: number;
}

/**
 * How many further acts the pods of a namespace may use. `open`: how many acts all namespaces together may still use.
 * The limit is the namespace's share of the open acts and of those that it has used, so that some are left for the pods
 * of other namespaces, whenever they are due. After its first act, a namespace also leaves one act to each idle
 * namespace, up to (1 - share) of all acts. Otherwise, the few namespaces whose pods are due first would each take half
 * of what is left, until nothing is.
 */
export function roomInShare(open: number, { used, usedByAll, idle, share }: NamespaceShare): number {
  const all = used + open;
  const most = Math.ceil(share * all);
  if (share >= 1) return Math.max(0, most - used);
  // Leaves at least one of two or more acts to other namespaces, which have pods because the share is below 1.
  const own = all > 1 ? Math.min(most, all - 1) : most;
  const left = open - Math.min(idle, Math.floor((1 - share) * (usedByAll + open)));
  return Math.max(0, Math.min(own - used, used === 0 ? Math.max(1, left) : left));
}

/** When the limit permits an act again: `now` if it already does, undefined if waiting alone does not help. */
export function roomAt(valve: Valve, limit: number, now: Instant): Instant | undefined {
  const known = valve.unknown && isUnknown(valve, now) ? shifted(valve.unknown, counts) : now;
  let left = actsWithin(valve, now) - limit;
  if (left < 0) return known;
  for (const { at, count } of recent(valve.acts, now)) {
    left -= count;
    if (left < 0) return laterOf(shifted(at, counts), known);
  }
  return undefined;
}

/** When the oldest act is no longer counted; undefined if none is. */
export function oldestActEnd({ acts }: Valve, now: Instant): Instant | undefined {
  const [oldest] = recent(acts, now);
  return oldest && shifted(oldest.at, counts);
}

const recent = (acts: readonly CountedActs[], now: Instant): readonly CountedActs[] =>
  acts.filter(({ at }) => isCounted(at, now));

/** The facts about the valve that are known when a term begins. */
export interface KnownValve {
  /** The valve in the Lease's annotation; undefined if there is none, or it cannot be read. */
  readonly found: Valve | undefined;
  /** This board's own copy; undefined if it has none. */
  readonly own: OwnCopy | undefined;
  /** The uid of the Lease. */
  readonly lease: string;
  /** Whether neither this board nor the API server knows of an earlier term of the site. */
  readonly isFirst: boolean;
  /** Whether this board has noticed that the API server was restored within the last hour. */
  readonly isRestored: boolean;
}

export interface OwnCopy {
  readonly valve: Valve;
  /** The uid of the Lease that it belongs to. */
  readonly lease: string;
  /** When it was last known to match the Lease. */
  readonly at: Instant;
}

/**
 * How long a board's copy counts as recent, although it may lack later acts of another leader. A follower reads the
 * Lease about once a minute.
 */
const trusted: Millis = 180_000;

/**
 * The valve with which a term begins. Normally, that is the one in the annotation. If this board remembers more acts on
 * the same Lease, the Lease was restored from a backup, and the acts of both are counted, because other boards may have
 * led in between. Without an annotation, or after a restore, this board's own copy applies if it is recent; otherwise
 * the acts of the last hour are unknown, except on a site that has never had a leader.
 */
export function valveAtStart({ found, own, lease, isFirst, isRestored }: KnownValve, now: Instant): Valve {
  // A backup may also hold an earlier Lease than the one that this board remembers, if that was deleted since.
  const isOfSite = own !== undefined && (own.lease === lease || isRestored);
  const isNewer = isOfSite && own.valve.total > (found?.total ?? 0);
  const best = isNewer ? withActsOf(own.valve, found) : (found ?? own?.valve ?? newValve);
  const isRecent = own !== undefined && elapsed(own.at, now) < trusted;
  const isKnown =
    found !== undefined && !isRestored
      ? true
      : (isRecent && (found === undefined || own.valve.total >= found.total)) || (own === undefined && isFirst);
  return isKnown ? best : { ...best, unknown: now };
}

/**
 * The valve with the acts of another copy. An act in both is counted twice, because nothing shows which ones are the
 * same.
 */
const withActsOf = (valve: Valve, other: Valve | undefined): Valve =>
  other === undefined ? valve : { ...valve, acts: inOrder([...valve.acts, ...other.acts]) };

/** The valve with the admitted acts counted as done, because it is no longer known whether they were. */
export const withAdmittedDone = (valve: Valve, now: Instant): Valve =>
  valve.admitted === 0
    ? valve
    : { ...valve, acts: inOrder([...valve.acts, { at: now, count: valve.admitted }]), admitted: 0 };

const inOrder = (acts: readonly CountedActs[]): readonly CountedActs[] =>
  acts.toSorted((a, b) => a.at.mono - b.at.mono);

/**
 * Limits of the annotation. The acts of an hour need at most one entry per minute; a longer text was not written by
 * siteward.
 */
const maxEntries = 100;
const maxTextLength = 4096;
const maxActs = 1_000_000_000;

/** Annotation of the Lease that passes the harmful acts of the last hour from leader to leader. */
export const valveAnnotation = "siteward.dev/valve";

/**
 * Encodes ages, rounded down, because boards share no clock and an act must not count for too short a time. They are in
 * whole minutes for older programs, and also in seconds (`exact`): on a site whose terms are shorter than a minute,
 * ages in minutes would never grow. Unknown fields are left out if the next leader could not read the text with them.
 */
export function encodeValve(valve: Valve, now: Instant): string {
  const text = textOf(valve, now);
  return Buffer.byteLength(text) > maxTextLength ? textOf({ ...valve, foreign: {} }, now) : text;
}

function textOf({ acts, admitted, total, unknown, foreign }: Valve, now: Instant): string {
  const counted = recent(acts, now).map(({ at, count }) => ({ age: ageOf(at, now), count }));
  const entries = counted.length > maxEntries ? byMinute(counted) : counted;
  const unknownAge = unknown !== undefined && isCounted(unknown, now) ? ageOf(unknown, now) : undefined;
  const ages = entries.map(({ age }) => age);
  const isExact = ages.length > 0 || unknownAge !== undefined;
  return JSON.stringify({
    ...foreign,
    v: 1,
    total,
    acts: entries.map(({ age, count }) => [minutesOf(age), Math.min(count, maxActs)]),
    ...(admitted > 0 && { admitted }),
    ...(unknownAge !== undefined && { unknown: minutesOf(unknownAge) }),
    ...(isExact && { exact: { total, ages, ...(unknownAge !== undefined && { unknown: unknownAge }) } }),
  });
}

interface AgedActs {
  /** In seconds. */
  readonly age: number;
  readonly count: number;
}

/** At most one entry for each minute, with the age of the latest act. */
function byMinute(entries: readonly AgedActs[]): readonly AgedActs[] {
  const minutes = new Map<number, AgedActs>();
  for (const { age, count } of entries) {
    const same = minutes.get(minutesOf(age));
    minutes.set(minutesOf(age), { age: Math.min(age, same?.age ?? age), count: count + (same?.count ?? 0) });
  }
  return [...minutes.values()];
}

const ageOf = (at: Instant, now: Instant): number => Math.floor(Math.max(0, elapsed(at, now)) / 1000);

const minutesOf = (age: number): number => Math.floor(age / 60);

/**
 * Decodes an annotation that was written before `written`. Acts that had been admitted by then count as done. Undefined
 * if there is no text, if it has another version, or if a member is invalid, because an act that is left out would not
 * be counted.
 */
export function decodeValve(text: string | undefined, written: Instant): Valve | undefined {
  const found = recordIn(text ?? "", maxTextLength) ?? {};
  const { v: version, total, acts, admitted = 0, unknown, exact, ...foreign } = found;
  if (version !== 1 || !isCount(total, Number.MAX_SAFE_INTEGER) || !isCount(admitted)) return undefined;
  if (!Array.isArray(acts) || acts.length > maxEntries || !acts.every(isEntry)) return undefined;
  if (unknown !== undefined && !isCount(unknown)) return undefined;
  const { ages, unknown: unknownAge } = exactAges(exact, { total, entries: acts.length });
  const at = (minutes: number, age: unknown): Instant =>
    shifted(written, -(isCount(age) && minutesOf(age) === minutes ? age * 1000 : minutes * minute));
  const valve: Valve = {
    acts: inOrder(acts.map(([minutes, count], index) => ({ at: at(minutes, ages[index]), count }))),
    admitted,
    total,
    unknown: unknown === undefined ? undefined : at(unknown, unknownAge),
    foreign,
  };
  return withAdmittedDone(valve, written);
}

/**
 * The ages in seconds. An older program leaves `exact` unchanged when it writes newer ages in minutes. So the seconds
 * are ignored if acts were admitted or dropped since, and each single age is ignored once it no longer matches its
 * minutes (see `decodeValve`): no act may be taken for older than it is.
 */
function exactAges(
  exact: unknown,
  { total, entries }: { readonly total: number; readonly entries: number },
): { readonly ages: readonly unknown[]; readonly unknown?: unknown } {
  const found = asRecord(exact);
  if (found.total !== total || !Array.isArray(found.ages) || found.ages.length !== entries) return { ages: [] };
  return { ages: found.ages, unknown: found.unknown };
}

const isEntry = (value: unknown): value is readonly [age: number, count: number] =>
  Array.isArray(value) && value.length === 2 && value.every((one) => isCount(one));

const isCount = (value: unknown, most = maxActs): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= most;
