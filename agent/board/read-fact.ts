import { readBytes } from "../config/read-text.ts";
import type { ReadFact } from "./facts.ts";

/**
 * Maximum length of a file, in bytes. An attribute in /sys is at most one page long, the mount table a few hundred
 * pages; longer files count as unreadable, because the kernel needs 35 ms to write such a table.
 */
const maxFileBytes = 2 * 2 ** 20;

/** Synchronous, because the kernel serves these files from memory, and a promise would cost more than the read. */
export const readFact: ReadFact = (file) => {
  try {
    return readBytes(file, { expected: 0, largest: maxFileBytes })?.toString();
  } catch {
    return undefined;
  }
};
