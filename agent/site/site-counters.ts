/**
 * The highest accepted number of each signing key, for a whole site. It travels from leader to leader in an annotation
 * of the site's Lease, as holds do.
 */
export interface SiteCounters {
  /** By the beginning of the key's fingerprint. Each number lies above the floor. */
  readonly keys: ReadonlyMap<string, number>;
  /** Numbers up to this one are refused for every key: it is the highest of the counters that were dropped. */
  readonly floor: number;
}

const belowAll = -1;

export const noCounters: SiteCounters = { keys: new Map(), floor: belowAll };

/**
 * All annotations of an object together may have 256 KiB, and followers read these with every read of the Lease. Beyond
 * this number the keys with the lowest counters share one, the floor: a dropped key is refused more, never less.
 */
export const mostKeys = 64;

/** 96 bits of a hash: two keys that collide would share a counter, which refuses more and never less. */
const nameLength = 16;
const nameOf = (fingerprint: string): string => fingerprint.slice(0, nameLength);

/** The highest number that counts as used; undefined: none was. */
export function highestOf({ keys, floor }: SiteCounters, fingerprint: string): number | undefined {
  const highest = Math.max(keys.get(nameOf(fingerprint)) ?? belowAll, floor);
  return highest === belowAll ? undefined : highest;
}

export const raised = (counters: SiteCounters, fingerprint: string, counter: number): SiteCounters =>
  merged(counters, { keys: new Map([[nameOf(fingerprint), counter]]), floor: belowAll });

/** The higher counter of each key: boards and Leases may be merged in any order, and more than once. */
export function merged(a: SiteCounters, b: SiteCounters): SiteCounters {
  const all = new Map(a.keys);
  for (const [key, counter] of b.keys) all.set(key, Math.max(counter, all.get(key) ?? belowAll));
  const floor = Math.max(a.floor, b.floor);
  const highestFirst = [...all].filter(([, counter]) => counter > floor).sort((one, other) => other[1] - one[1]);
  const dropped = highestFirst[mostKeys]?.[1] ?? belowAll;
  return {
    keys: new Map(highestFirst.slice(0, mostKeys).filter(([, counter]) => counter > dropped)),
    floor: Math.max(floor, dropped),
  };
}

/** Far more than `mostKeys` entries of ours. A longer text is not ours; its beginning still counts. */
const longestText = 4096;
const floorName = "*";
const entryPattern = /^(\*|[A-Za-z0-9_-]{16})=([0-9]{1,16})$/;

/** Equal counters give equal text, so that a renewal carries it only after a change. "" if nothing was ever counted. */
export function encodeCounters({ keys, floor }: SiteCounters): string {
  const entries = [...keys].map(([key, counter]) => `${key}=${counter}`).sort();
  return (floor === belowAll ? entries : [`${floorName}=${floor}`, ...entries]).join(" ");
}

/** Invalid entries are left out: a counter is at least what the others say, and what this board knows. */
export function decodeCounters(text: string): SiteCounters {
  const found = new Map<string, number>();
  for (const entry of text.slice(0, longestText).split(" ")) {
    const [, name, digits] = entryPattern.exec(entry) ?? [];
    const counter = Number(digits);
    if (name === undefined || !Number.isSafeInteger(counter)) continue;
    found.set(name, Math.max(counter, found.get(name) ?? belowAll));
  }
  const floor = found.get(floorName) ?? belowAll;
  found.delete(floorName);
  return merged(noCounters, { keys: found, floor });
}
