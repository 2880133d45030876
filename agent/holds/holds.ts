import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import { asRecord, type Foreign, recordIn } from "../base/json.ts";

/** An operator's order that lasts for a while. */
export interface Hold {
  /** On our own clock. */
  readonly end: Instant;
  readonly by: string;
  readonly reason: string | undefined;
  readonly foreign: Foreign;
}

/** The scope of a freeze. `target`: the zone as status names it, or the board's Node. */
export type HoldScope =
  | { readonly scope: "site"; readonly target?: undefined }
  | { readonly scope: "zone" | "board"; readonly target: string };

/** Nothing is evicted in its scope; after its end, by time or by command, evictions go slowly until `slowEnd`. */
export type Freeze = Hold & HoldScope & { readonly slowEnd: Instant };

/**
 * The holds and confirmations of operators for the whole site: they belong to the site, not to a process, and travel
 * from leader to leader in an annotation of the site's Lease. A freeze that is over stays until `slowEnd`.
 */
export interface Holds {
  /** By `freezeKey`. */
  readonly freezes: ReadonlyMap<string, Freeze>;
  /** By controller. */
  readonly pauses: ReadonlyMap<string, Hold>;
  /** Zones whose silent boards count as dead. */
  readonly confirmed: ReadonlyMap<string, Hold>;
  /** How often operators have changed them: of two readings, the one with more changes is the newer. */
  readonly changes: number;
  readonly foreign: Foreign;
}

export const noHolds: Holds = { freezes: new Map(), pauses: new Map(), confirmed: new Map(), changes: 0, foreign: {} };

export const isNothing = ({ freezes, pauses, confirmed }: Holds): boolean =>
  freezes.size + pauses.size + confirmed.size === 0;

/** Whether two readings hold the same orders. Each gives the time left at that reading: ends may differ by `within`. */
export function isAlike(a: Holds, b: Holds, within: Millis): boolean {
  const same = (one: ReadonlyMap<string, Hold>, other: ReadonlyMap<string, Hold>): boolean =>
    one.size === other.size &&
    [...one].every(([key, { end }]) => {
      const twin = other.get(key);
      return twin !== undefined && Math.abs(elapsed(twin.end, end)) <= within;
    });
  const isSame = same(a.freezes, b.freezes) && same(a.pauses, b.pauses) && same(a.confirmed, b.confirmed);
  return isSame && a.changes === b.changes;
}

export const freezeKey = ({ scope, target }: HoldScope): string => (scope === "site" ? scope : `${scope}/${target}`);

/** A board, as freezes see it. An unknown zone may be any zone. */
export interface Place {
  readonly board: string;
  readonly zone: string | undefined;
}

/** The freeze that covers a board and ends last; undefined: none does. */
export const freezeOn = ({ freezes }: Holds, place: Place, now: Instant): Freeze | undefined =>
  latest([...freezes.values()].filter((freeze) => isRunning(freeze, now) && covers(freeze, place)));

/** The freeze that is over and still slows evictions in this zone; a freeze of a single board slows none. */
export const slowAfter = ({ freezes }: Holds, zone: string, now: Instant): Freeze | undefined =>
  latest(
    [...freezes.values()].filter(
      (freeze) =>
        !isRunning(freeze, now) &&
        elapsed(now, freeze.slowEnd) > 0 &&
        (freeze.scope === "site" || (freeze.scope === "zone" && freeze.target === zone)),
    ),
  );

/** The operator who confirmed that a zone is dead; undefined: nobody did. */
export function confirmedBy({ confirmed }: Holds, zone: string, now: Instant): string | undefined {
  const hold = confirmed.get(zone);
  return hold && isRunning(hold, now) ? hold.by : undefined;
}

export const isRunning = ({ end }: Hold, now: Instant): boolean => elapsed(now, end) > 0;

/** Whether a board lies in a scope. */
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

/** Without the holds that are over. */
export function pruned(holds: Holds, now: Instant): Holds {
  const running = <T extends Hold>(holds: ReadonlyMap<string, T>, endOf: (hold: T) => Instant) =>
    new Map([...holds].filter(([, hold]) => elapsed(now, endOf(hold)) > 0));
  const freezes = running(holds.freezes, ({ slowEnd }) => slowEnd);
  const pauses = running(holds.pauses, ({ end }) => end);
  const confirmed = running(holds.confirmed, ({ end }) => end);
  const isSame = freezes.size + pauses.size + confirmed.size === sizeOf(holds);
  return isSame ? holds : { ...holds, freezes, pauses, confirmed };
}

const sizeOf = ({ freezes, pauses, confirmed }: Holds): number => freezes.size + pauses.size + confirmed.size;

/** The next end of a hold; undefined: none runs. */
export function nextEnd({ freezes, pauses, confirmed }: Holds, now: Instant): Instant | undefined {
  const ends = [...freezes.values(), ...pauses.values(), ...confirmed.values()].map(({ end }) => end);
  return ends.reduce<Instant | undefined>(
    (first, end) => (elapsed(now, end) > 0 && (first === undefined || end.mono < first.mono) ? end : first),
    undefined,
  );
}

/**
 * All annotations of an object together may have 256 KiB, or no renewal goes through any more. A command that would be
 * one too many is refused; a longer text that is read is not ours.
 */
const mostHolds = 100;
const longestText = 64 * 1024;
const longestWritten = 48 * 1024;
/** Ends that are read lie no further away, whatever was written there by hand. */
const longestHold: Millis = 7 * 86_400_000;
export const longestBy = 128;
export const longestReason = 256;

/** Writes the time that each still lasts, not its end: no two boards share a clock. `until` is for people. */
export function encodeHolds({ freezes, pauses, confirmed, changes, foreign }: Holds, now: Instant): string {
  const told = ({ end, by, reason, foreign }: Hold): Foreign => ({
    ...foreign,
    left: secondsUntil(end, now),
    until: isoTime(Math.round((now.wall + elapsed(now, end)) / 1000) * 1000),
    by,
    ...(reason !== undefined && { reason }),
  });
  const all = (holds: ReadonlyMap<string, Hold>): Foreign =>
    Object.fromEntries([...holds].map(([key, hold]) => [key, told(hold)]));
  const frozen = [...freezes].map(([key, freeze]) => {
    const { end, slowEnd } = freeze;
    return [key, { ...told(freeze), slow: secondsUntil(slowEnd, isRunning(freeze, now) ? end : now) }];
  });
  return JSON.stringify({
    ...foreign,
    v: 1,
    ...(changes > 0 && { changes }),
    freezes: Object.fromEntries(frozen),
    pauses: all(pauses),
    confirmed: all(confirmed),
  });
}

/** Rounded up: a hold may last longer than asked for, never shorter. */
const secondsUntil = (end: Instant, now: Instant): number => Math.max(0, Math.ceil(elapsed(now, end) / 1000));

/**
 * `written`: the text is at least as old as that. Undefined: there is no text, or none that we understand. Invalid
 * entries are left out.
 */
export function decodeHolds(text: string | undefined, written: Instant): Holds | undefined {
  const { v: version, freezes, pauses, confirmed, changes, ...foreign } = recordIn(text ?? "", longestText) ?? {};
  if (version !== 1) return undefined;
  return {
    freezes: entriesOf(freezes, (entry, key) => freezeOf(entry, key, written)),
    pauses: entriesOf(pauses, (entry) => holdOf(entry, written)),
    confirmed: entriesOf(confirmed, (entry) => holdOf(entry, written)),
    changes: typeof changes === "number" && Number.isSafeInteger(changes) && changes > 0 ? changes : 0,
    foreign,
  };
}

/** Whether the next leader will be able to read it. */
export const fits = (holds: Holds, now: Instant): boolean =>
  [holds.freezes, holds.pauses, holds.confirmed].every(({ size }) => size <= mostHolds) &&
  Buffer.byteLength(encodeHolds(holds, now)) <= longestWritten;

function entriesOf<T>(value: unknown, read: (entry: Foreign, key: string) => T | undefined): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const [key, entry] of Object.entries(asRecord(value)).slice(0, mostHolds)) {
    const hold = read(asRecord(entry), key);
    if (hold !== undefined) found.set(key, hold);
  }
  return found;
}

function holdOf({ left, by, reason, until: _, ...foreign }: Foreign, written: Instant): Hold | undefined {
  const rest = duration(left);
  if (rest === undefined) return undefined;
  return {
    end: shifted(written, rest),
    by: typeof by === "string" ? by.slice(0, longestBy) : "unknown",
    reason: typeof reason === "string" ? reason.slice(0, longestReason) : undefined,
    foreign,
  };
}

function freezeOf({ slow, ...entry }: Foreign, key: string, written: Instant): Freeze | undefined {
  const hold = holdOf(entry, written);
  const scope = scopeOf(key);
  return hold && scope && { ...hold, ...scope, slowEnd: shifted(hold.end, duration(slow) ?? 0) };
}

function scopeOf(key: string): HoldScope | undefined {
  if (key === "site") return { scope: "site" };
  const slash = key.indexOf("/");
  const [scope, target] = [key.slice(0, slash), key.slice(slash + 1)];
  return (scope === "zone" || scope === "board") && target !== "" ? { scope, target } : undefined;
}

const duration = (seconds: unknown): Millis | undefined =>
  typeof seconds === "number" && seconds >= 0 ? Math.min(seconds * 1000, longestHold) : undefined;
