import { type FSWatcher, watch } from "node:fs";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Moment, RecordedSite } from "./recorded-site.ts";

/** When the power goes: after a time, or at the n-th of something that can be seen from outside. */
export type CutPoint =
  | { readonly at: "start" | "load"; readonly after: number }
  | { readonly at: Moment | "cache.db-wal" | "state.db-wal" | "cache.db"; readonly count: number };

/** How many of each are waited for at most; an agent acts only when it has caught up, which takes a second or two. */
const named = {
  request: 40,
  answer: 40,
  event: 40,
  act: 12,
  acted: 12,
  "cache.db-wal": 40,
  "state.db-wal": 4,
  "cache.db": 4,
} as const;
const names = ["request", "answer", "event", "act", "acted", "cache.db-wal", "state.db-wal", "cache.db"] as const;

export function chooseCut(random: SeededRandom): CutPoint {
  const kind = random.integer(10);
  if (kind < 3) return { at: "start", after: random.integer(700) };
  if (kind < 5) return { at: "load", after: random.integer(900) };
  const at = kind < 7 ? "acted" : (names[random.integer(names.length)] ?? "event");
  return { at, count: 1 + random.integer(named[at]) };
}

export const told = (cut: CutPoint): string =>
  "after" in cut
    ? `${cut.after} ms after the ${cut.at === "start" ? "start" : "load began"}`
    : `${cut.at} ${cut.count}`;

/** A point that is not reached in this time is cut all the same. */
const patience = 6000;

/** Calls `cut` once, when the point is reached; resolves then. */
export function whenReached(
  point: CutPoint,
  { site, folder }: { readonly site: RecordedSite; readonly folder: string },
  cut: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    let files: FSWatcher | undefined;
    let left = "count" in point ? point.count : Number.POSITIVE_INFINITY;
    const done = (): void => {
      clearTimeout(timer);
      files?.close();
      site.moment = () => {};
      cut();
      resolve();
    };
    const seen = (what: string | null): void => {
      if (what === point.at && --left === 0) done();
    };
    const timer = setTimeout(done, "after" in point ? point.after : patience);
    site.moment = seen;
    if (point.at.includes(".db")) files = watch(folder, (_, name) => seen(name));
  });
}
