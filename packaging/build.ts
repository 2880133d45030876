import { rmSync } from "node:fs";
import path from "node:path";
import { buildProgram } from "./program.ts";

// `npm run build`: the program for this checkout, in dist/, with the SQLite binding of node_modules.
const root = path.resolve(import.meta.dirname, "..");
const outdir = path.join(root, "dist");
rmSync(outdir, { recursive: true, force: true });
await buildProgram({ root, outdir, sqlite: "better-sqlite3" });
