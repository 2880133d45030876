import { existsSync } from "node:fs";
import path from "node:path";

/** The program as it is shipped. `npm test` builds it first. */
export const shipped = path.resolve(import.meta.dirname, "../../dist/main.js");

export const isBuilt = existsSync(shipped);
if (!isBuilt)
  console.warn("left out: the tests of the shipped program, because there is no dist/ here (npm run build)");
