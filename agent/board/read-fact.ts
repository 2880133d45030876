import { readFileSync } from "node:fs";
import type { ReadFact } from "./facts.ts";

/** Synchronous, because the kernel serves these files from memory, and a promise would cost more than the read. */
export const readFact: ReadFact = (file) => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
};
