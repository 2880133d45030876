import { readdirSync, rmSync } from "node:fs";
import path from "node:path";

/**
 * Of the files set aside, keeps those with this stamp and with the newest others, `most` stamps in all: a disk that
 * damages every file must not fill up with them. Stamps grow, except on a board whose clock begins in 1970.
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

/** The text after the mark; "" if the file was not set aside. */
function stampIn(entry: string): string {
  const at = entry.indexOf(mark);
  return at < 0 ? "" : entry.slice(at + mark.length);
}

const mark = ".damaged-";
