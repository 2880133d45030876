/** Annotation of the Lease that passes, from leader to leader, the highest counter accepted from each signing key. */
export const countersAnnotation = "siteward.dev/counters";

/**
 * The highest used counter of each key that signs commands of a site. `countersAnnotation` passes these counters from
 * leader to leader.
 */
export interface SiteCounters {
  /** The counters, by the beginning of the key's fingerprint. All are above the floor. */
  readonly keys: ReadonlyMap<string, number>;
  /**
   * Counters up to this one count as used for every key; -1 without a floor. The floor is the highest of the dropped
   * counters.
   */
  readonly floor: number;
}

/** Less than every counter. */
const belowAll = -1;

export const noCounters: SiteCounters = { keys: new Map(), floor: belowAll };

/**
 * Maximum number of keys, because every board reads the annotation with each read of the Lease. If there are more keys,
 * those with the lowest counters are dropped and share the floor, so more of their commands are refused, but none is
 * accepted twice.
 */
export const maxKeys = 64;

/**
 * How many characters, of 6 bits each, identify a key. Two keys with the same beginning share a counter, so more
 * commands are refused, but none is accepted twice.
 */
const nameLength = 16;
const nameOf = (fingerprint: string): string => fingerprint.slice(0, nameLength);

/** The highest used counter of a key; undefined if there is none. */
export function highestOf({ keys, floor }: SiteCounters, fingerprint: string): number | undefined {
  const highest = Math.max(keys.get(nameOf(fingerprint)) ?? belowAll, floor);
  return highest === belowAll ? undefined : highest;
}

/** The counters after one more has been used. */
export const raiseCounter = (counters: SiteCounters, fingerprint: string, counter: number): SiteCounters =>
  mergeCounters(counters, { keys: new Map([[nameOf(fingerprint), counter]]), floor: belowAll });

/** The higher counter of each key. The result does not depend on the order or number of merges. */
export function mergeCounters(a: SiteCounters, b: SiteCounters): SiteCounters {
  const all = new Map(a.keys);
  for (const [key, counter] of b.keys) all.set(key, Math.max(counter, all.get(key) ?? belowAll));
  const floor = Math.max(a.floor, b.floor);
  const highestFirst = [...all].filter(([, counter]) => counter > floor).sort((one, other) => other[1] - one[1]);
  const dropped = highestFirst[maxKeys]?.[1] ?? belowAll;
  return {
    keys: new Map(highestFirst.slice(0, maxKeys).filter(([, counter]) => counter > dropped)),
    floor: Math.max(floor, dropped),
  };
}

/**
 * Maximum length of the text that is read, in characters; `maxKeys` entries need less. Of a longer text, which
 * siteward did not write, only the beginning counts.
 */
const maxTextLength = 4096;
const floorName = "*";
const entryPattern = /^(\*|[A-Za-z0-9_-]{16})=([0-9]{1,16})$/;

/**
 * The text of the annotation; "" if there are no counters. Equal counters give the same text, so that it is written
 * only after a change.
 */
export function encodeCounters({ keys, floor }: SiteCounters): string {
  const entries = [...keys].map(([key, counter]) => `${key}=${counter}`).sort();
  return (floor === belowAll ? entries : [`${floorName}=${floor}`, ...entries]).join(" ");
}

/**
 * The counters in an annotation. Invalid entries are ignored, which is safe, because it does not lower counters that
 * this board knows.
 */
export function decodeCounters(text: string): SiteCounters {
  const found = new Map<string, number>();
  for (const entry of text.slice(0, maxTextLength).split(" ")) {
    const [, name, digits] = entryPattern.exec(entry) ?? [];
    const counter = Number(digits);
    if (name === undefined || !Number.isSafeInteger(counter)) continue;
    found.set(name, Math.max(counter, found.get(name) ?? belowAll));
  }
  const floor = found.get(floorName) ?? belowAll;
  found.delete(floorName);
  return mergeCounters(noCounters, { keys: found, floor });
}
