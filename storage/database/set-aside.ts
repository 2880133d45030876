import { readdirSync, rmSync } from "node:fs";
import path from "node:path";

const mark = ".damaged-";

/** The path to which a file is moved when it is set aside. */
export const asideOf = (file: string, stamp: string): string => `${file}${mark}${stamp}`;

/**
 * Of the files set aside, keeps those with the stamp `latest` and those with the highest other stamps, `most` stamps in
 * total, so that a disk that damages every file does not fill up. `latest` may be lower than older stamps on a board
 * whose clock starts in 1970.
 */
export function keepNewest(file: string, { latest, most }: { readonly latest: string; readonly most: number }): void {
  const [folder, name] = [path.dirname(file), path.basename(file)];
  const found = readdirSync(folder).flatMap((entry) => {
    const stamp = entry.startsWith(name) ? stampIn(entry) : "";
    return stamp === "" ? [] : [{ entry, stamp }];
  });
  const others = new Set(found.map(({ stamp }) => stamp).filter((stamp) => stamp !== latest));
  const newest = [...others].sort((a, b) => b.localeCompare(a, "en", { numeric: true })).slice(0, most - 1);
  const kept = new Set([latest, ...newest]);
  for (const { entry, stamp } of found) {
    if (!kept.has(stamp)) rmSync(path.join(folder, entry), { recursive: true, force: true });
  }
}

/** The stamp in the name of a file that was set aside; "" if it was not. */
function stampIn(entry: string): string {
  const at = entry.indexOf(mark);
  return at < 0 ? "" : entry.slice(at + mark.length);
}
