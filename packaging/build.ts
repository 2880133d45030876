import path from "node:path";
import { buildProgram } from "./program.ts";
import { replaceFolder } from "./replace-folder.ts";

// `npm run build`: the program for this checkout, in dist/, with the SQLite binding of node_modules. A program that runs
// from there loads further files later: it finds those that are the same in the new build, and has to be restarted for
// the others.
const root = path.resolve(import.meta.dirname, "..");
await replaceFolder(path.join(root, "dist"), (outdir) => buildProgram({ root, outdir, sqlite: "better-sqlite3" }));
