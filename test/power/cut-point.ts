import { type FSWatcher, watch } from "node:fs";
import type { SeededRandom } from "../support/seeded-random.ts";
import type { Moment, RecordedSite } from "./recorded-site.ts";

/** The time of the power cut: after a delay, or at the n-th occurrence of an observable event. */
export type CutPoint =
  | { readonly at: "start" | "load"; readonly after: number }
  | { readonly at: Moment | "cache.db-wal" | "state.db-wal" | "cache.db"; readonly count: number };

/** The highest n of each event; an agent acts only when it has caught up, after a second or two. */
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

export const pointText = (cut: CutPoint): string =>
  "after" in cut
    ? `${cut.after} ms after the ${cut.at === "start" ? "start" : "load began"}`
    : `${cut.at} ${cut.count}`;

/** Milliseconds after which the power is cut even if the point was not reached. */
const patience = 6000;

/** Calls `cut` once when the point is reached, then resolves. */
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
