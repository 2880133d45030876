import { readdirSync, rmSync } from "node:fs";
import path from "node:path";

/**
 * Of what was set aside of a file, keeps what carries this stamp and the newest others, so many in all: a disk that damages
 * every file it is given must not be filled with them. Stamps grow, but for the clock of a board that begins in 1970.
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

/** What stands behind the mark; "": the file was not set aside. */
function stampIn(entry: string): string {
  const at = entry.indexOf(mark);
  return at < 0 ? "" : entry.slice(at + mark.length);
}

const mark = ".damaged-";
