import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { sqliteImport } from "./bundle.ts";
import { buildProgram } from "./program.ts";
import { readableStack } from "./stack.ts";

// `npm run --silent stack < FILE`: replaces positions in the program, in a log or a stack, with positions in the
// sources. The same sources give the same files, so this needs only a checkout of the version that wrote the log, and
// nothing from the board.
const root = path.resolve(import.meta.dirname, "..");
const folder = mkdtempSync(path.join(tmpdir(), "siteward-maps-"));
try {
  const folders: string[] = [];
  for (const [name, sqlite] of Object.entries({ package: sqliteImport, checkout: "better-sqlite3" })) {
    const outdir = path.join(folder, name);
    await buildProgram({ root, outdir, sqlite, maps: true });
    folders.push(outdir);
  }
  const { text: readable, unknown } = readableStack(await text(process.stdin), (file) => {
    const map = folders.map((folder) => path.join(folder, `${file}.map`)).find(existsSync);
    return map && readFileSync(map, "utf8");
  });
  process.stdout.write(readable);
  if (unknown.length > 0) {
    process.stderr.write(
      `not part of this version: ${unknown.join(", ")}; check out the tag of the version that wrote the stack\n`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
