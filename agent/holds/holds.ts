import { createHash } from "node:crypto";
import { elapsed, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { asRecord, recordIn, type UnknownFields } from "../base/json.ts";
import { isoTime } from "../base/time/iso-time.ts";

/** An operator's order that lasts for a while. */
export interface Hold {
  /** When the hold ends, by our own clock. */
  readonly end: Instant;
  /** The operator who ordered it. */
  readonly by: string;
  /** The reason that the operator gave. */
  readonly reason: string | undefined;
  /** Unknown fields, written by a newer program; passed on unchanged. */
  readonly foreign: UnknownFields;
}

/** The scope of a freeze. `target`: the name of the zone in the status, or of the board's Node. */
export type HoldScope =
  | { readonly scope: "site"; readonly target?: undefined }
  | { readonly scope: "zone" | "board"; readonly target: string };

/**
 * Stops evictions in its scope. After its end, by time or by command, evictions there proceed slowly until `slowEnd`.
 */
export type Freeze = Hold & HoldScope & { readonly slowEnd: Instant };

/** An operator's statement that the boards of a zone that were silent at the time are dead. */
export interface Confirmation extends Hold {
  /**
   * The last signs of life of those boards, as digests (see `digestOfSign`). Once a board gives another sign, it is
   * permanently no longer confirmed, even under later leaders.
   */
  readonly lastSigns: ReadonlySet<string>;
}

/**
 * All holds of a site. They belong to the site, not to a process, and are passed from leader to leader in an annotation
 * of the site's Lease. A freeze that has ended is kept until its `slowEnd`.
 */
export interface Holds {
  /** Freezes by `freezeKey`. */
  readonly freezes: ReadonlyMap<string, Freeze>;
  /** Pauses by controller. */
  readonly pauses: ReadonlyMap<string, Hold>;
  /** Confirmations that the silent boards of a zone are dead, by zone. */
  readonly confirmed: ReadonlyMap<string, Confirmation>;
  /** A release, during which the safety valve holds nothing back; undefined if none was ordered. */
  readonly release: Hold | undefined;
  /** Number of changes that operators have made to the holds. The copy with more changes is the newer one. */
  readonly changes: number;
  readonly foreign: UnknownFields;
}

export const noHolds: Holds = {
  freezes: new Map(),
  pauses: new Map(),
  confirmed: new Map(),
  release: undefined,
  changes: 0,
  foreign: {},
};

export const isNothing = (holds: Holds): boolean => sizeOf(holds) === 0;

/**
 * Whether two copies have the same holds. Their ends may differ by up to `within`, because only remaining times are
 * stored.
 */
export function isAlike(a: Holds, b: Holds, within: Millis): boolean {
  const same = (one: ReadonlyMap<string, Hold>, other: ReadonlyMap<string, Hold>): boolean =>
    one.size === other.size &&
    [...one].every(([key, { end }]) => {
      const twin = other.get(key);
      return twin !== undefined && Math.abs(elapsed(twin.end, end)) <= within;
    });
  const isSame =
    same(a.freezes, b.freezes) &&
    same(a.pauses, b.pauses) &&
    same(a.confirmed, b.confirmed) &&
    same(releaseOf(a), releaseOf(b));
  return isSame && a.changes === b.changes;
}

export const freezeKey = ({ scope, target }: HoldScope): string => (scope === "site" ? scope : `${scope}/${target}`);

/** A board and its zone. An unknown zone may be any zone. */
export interface Place {
  readonly board: string;
  readonly zone: string | undefined;
}

/** Of the freezes that cover a board, the one that ends last; undefined if there is none. */
export const freezeOn = ({ freezes }: Holds, place: Place, now: Instant): Freeze | undefined =>
  latest([...freezes.values()].filter((freeze) => isRunning(freeze, now) && covers(freeze, place)));

/**
 * The freeze that has ended but still slows evictions in this zone; undefined if there is none. A freeze of a single
 * board slows nothing after its end.
 */
export const slowAfter = ({ freezes }: Holds, zone: string, now: Instant): Freeze | undefined =>
  latest(
    [...freezes.values()].filter(
      (freeze) =>
        !isRunning(freeze, now) &&
        isAfter(freeze.slowEnd, now) &&
        (freeze.scope === "site" || (freeze.scope === "zone" && freeze.target === zone)),
    ),
  );

/**
 * The operator who confirmed that a board of this zone is dead; undefined if none has, or the board has given a sign of
 * life since. `lastSign`: the digest of its last sign of life.
 */
export function confirmedBy(
  { confirmed }: Holds,
  zone: string,
  lastSign: () => string,
  now: Instant,
): string | undefined {
  const hold = confirmed.get(zone);
  return hold && isRunning(hold, now) && hold.lastSigns.has(lastSign()) ? hold.by : undefined;
}

/**
 * The length of a digest. With this length, one in ten million signs of life of 5000 boards is mistaken for an older
 * one.
 */
const digestLength = 6;

/**
 * The digest of a board's last heartbeat, from the texts that identify it. Only digests are stored, because the Lease
 * must have room for all boards of a zone.
 */
export const digestOfSign = (sign: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(sign)).digest("base64url").slice(0, digestLength);

/** Whether one of the holds permits harm. */
export const permits = ({ confirmed, release }: Holds): boolean => confirmed.size > 0 || release !== undefined;

/** The running release of the safety valve; undefined if there is none. */
export const runningRelease = ({ release }: Holds, now: Instant): Hold | undefined =>
  release && isRunning(release, now) ? release : undefined;

/** Whether an operator has paused the controller of this name, and the pause is still running. */
export function isPaused({ pauses }: Pick<Holds, "pauses">, controller: string, now: Instant): boolean {
  const pause = pauses.get(controller);
  return pause !== undefined && isRunning(pause, now);
}

/** The release as a map with the key "valve", like the other holds; empty if there is none. */
export const releaseOf = ({ release }: Holds): ReadonlyMap<string, Hold> => new Map(release && [["valve", release]]);

export const isRunning = ({ end }: Hold, now: Instant): boolean => isAfter(end, now);

/** Whether a scope covers a board. */
export function covers(freeze: HoldScope, { board, zone }: Place): boolean {
  switch (freeze.scope) {
    case "site":
      return true;
    case "zone":
      return zone === undefined || freeze.target === zone;
    case "board":
      return freeze.target === board;
    default:
      return freeze satisfies never;
  }
}

const latest = (freezes: readonly Freeze[]): Freeze | undefined =>
  freezes.reduce<Freeze | undefined>(
    (last, freeze) => (last && last.end.mono >= freeze.end.mono ? last : freeze),
    undefined,
  );

/** The holds that still have an effect. */
export function prune(holds: Holds, now: Instant): Holds {
  const running = <T extends Hold>(holds: ReadonlyMap<string, T>, endOf: (hold: T) => Instant) =>
    new Map([...holds].filter(([, hold]) => isAfter(endOf(hold), now)));
  const freezes = running(holds.freezes, ({ slowEnd }) => slowEnd);
  const pauses = running(holds.pauses, ({ end }) => end);
  const confirmed = running(holds.confirmed, ({ end }) => end);
  const release = runningRelease(holds, now);
  const next = { ...holds, freezes, pauses, confirmed, release };
  return sizeOf(next) === sizeOf(holds) ? holds : next;
}

const sizeOf = ({ freezes, pauses, confirmed, release }: Holds): number =>
  freezes.size + pauses.size + confirmed.size + (release ? 1 : 0);

/** The next end of a hold; undefined if no hold is running. */
export function nextEnd(holds: Holds, now: Instant): Instant | undefined {
  const { freezes, pauses, confirmed } = holds;
  const all = [freezes, pauses, confirmed, releaseOf(holds)];
  const ends = all.flatMap((holds) => [...holds.values()]).map(({ end }) => end);
  return ends.reduce<Instant | undefined>(
    (first, end) => (isAfter(end, now) && (first === undefined || end.mono < first.mono) ? end : first),
    undefined,
  );
}

/**
 * Limits of the annotation, in holds and bytes: all annotations of an object together may have 256 KiB, and a larger
 * Lease could not be renewed. A command that would exceed the limits is refused; a longer text was not written by
 * siteward.
 */
const maxHolds = 100;
const maxTextLength = 64 * 1024;
const maxWrittenLength = 48 * 1024;
/** Maximum length of a hold; a longer one, which must have been written by hand, is shortened to it. */
const maxHold: Millis = 7 * 86_400_000;
export const maxByLength = 128;
export const maxReasonLength = 256;

/** Annotation of the Lease that passes the operators' holds from leader to leader. */
export const holdsAnnotation = "siteward.dev/holds";

/**
 * Encodes the remaining time of each hold, not its end, because boards share no clock. The field `until` is for human
 * readers only. The text may be read up to `stands` later, so permissions are written with the time that will remain
 * then: a change of leader may prolong a restriction, and shorten a permission.
 */
export function encodeHolds(
  { freezes, pauses, confirmed, release, changes, foreign }: Holds,
  now: Instant,
  stands: Millis = 0,
): string {
  const encoded = (
    { end, by, reason, foreign }: Hold,
    left = Math.max(0, Math.floor((elapsed(now, end) - stands) / 1000)),
  ): UnknownFields => ({
    ...foreign,
    left,
    until: isoTime(Math.round((now.wall + elapsed(now, end)) / 1000) * 1000),
    by,
    ...(reason !== undefined && { reason }),
  });
  const restriction = (hold: Hold): UnknownFields => encoded(hold, secondsUntil(hold.end, now));
  const frozen = [...freezes].map(([key, freeze]) => {
    const { end, slowEnd } = freeze;
    return [key, { ...restriction(freeze), slow: secondsUntil(slowEnd, isRunning(freeze, now) ? end : now) }];
  });
  return JSON.stringify({
    ...foreign,
    v: 1,
    ...(changes > 0 && { changes }),
    freezes: Object.fromEntries(frozen),
    pauses: Object.fromEntries([...pauses].map(([controller, pause]) => [controller, restriction(pause)])),
    confirmed: Object.fromEntries(
      [...confirmed].map(([zone, hold]) => [zone, { ...encoded(hold), lastSigns: [...hold.lastSigns].join("") }]),
    ),
    ...(release && { release: encoded(release) }),
  });
}

/** Rounded up, because a restriction may last longer than ordered, but never shorter. */
const secondsUntil = (end: Instant, now: Instant): number => Math.max(0, Math.ceil(elapsed(now, end) / 1000));

/**
 * Decodes an annotation that was written before `written`, and leaves out invalid entries. Undefined if there is no
 * text, or if it has another version.
 */
export function decodeHolds(text: string | undefined, written: Instant): Holds | undefined {
  const found = recordIn(text ?? "", maxTextLength) ?? {};
  const { v: version, freezes, pauses, confirmed, release, changes, ...foreign } = found;
  if (version !== 1) return undefined;
  return {
    freezes: entriesOf(freezes, (entry, key) => freezeOf(entry, key, written)),
    pauses: entriesOf(pauses, (entry) => holdOf(entry, written)),
    confirmed: entriesOf(confirmed, (entry) => confirmationOf(entry, written)),
    release: holdOf(asRecord(release), written),
    changes: typeof changes === "number" && Number.isSafeInteger(changes) && changes > 0 ? changes : 0,
    foreign,
  };
}

/** Whether the holds fit into the annotation, so that the next leader can read it. */
export const fits = (holds: Holds, now: Instant): boolean =>
  [holds.freezes, holds.pauses, holds.confirmed].every(({ size }) => size <= maxHolds) &&
  Buffer.byteLength(encodeHolds(holds, now)) <= maxWrittenLength;

function entriesOf<T>(
  value: unknown,
  read: (entry: UnknownFields, key: string) => T | undefined,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const [key, entry] of Object.entries(asRecord(value)).slice(0, maxHolds)) {
    const hold = read(asRecord(entry), key);
    if (hold !== undefined) found.set(key, hold);
  }
  return found;
}

function holdOf({ left, by, reason, until: _, ...foreign }: UnknownFields, written: Instant): Hold | undefined {
  const rest = duration(left);
  if (rest === undefined) return undefined;
  return {
    end: shifted(written, rest),
    by: typeof by === "string" ? by.slice(0, maxByLength) : "unknown",
    reason: typeof reason === "string" ? reason.slice(0, maxReasonLength) : undefined,
    foreign,
  };
}

function freezeOf({ slow, ...entry }: UnknownFields, key: string, written: Instant): Freeze | undefined {
  const hold = holdOf(entry, written);
  const scope = scopeOf(key);
  return hold && scope && { ...hold, ...scope, slowEnd: shifted(hold.end, duration(slow) ?? 0) };
}

/** Undefined for an entry written by an older program, which does not say which boards were silent. */
function confirmationOf({ lastSigns, ...entry }: UnknownFields, written: Instant): Confirmation | undefined {
  const hold = holdOf(entry, written);
  if (hold === undefined || typeof lastSigns !== "string") return undefined;
  const signs = new Set<string>();
  for (let at = 0; at + digestLength <= lastSigns.length; at += digestLength)
    signs.add(lastSigns.slice(at, at + digestLength));
  return { ...hold, lastSigns: signs };
}

function scopeOf(key: string): HoldScope | undefined {
  if (key === "site") return { scope: "site" };
  const slash = key.indexOf("/");
  const [scope, target] = [key.slice(0, slash), key.slice(slash + 1)];
  return (scope === "zone" || scope === "board") && target !== "" ? { scope, target } : undefined;
}

const duration = (seconds: unknown): Millis | undefined =>
  typeof seconds === "number" && seconds >= 0 ? Math.min(seconds * 1000, maxHold) : undefined;
