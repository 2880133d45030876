import type { SeededRandom } from "../support/seeded-random.ts";

/** Something that reads what comes from outside. */
export interface Target {
  readonly name: string;
  /** How an example is changed: as a tree, word by word, or byte by byte. What is a tree is changed as text and bytes too. */
  readonly form: "json" | "text" | "bytes";
  /** Of a million inputs of all targets it gets this share, beside those of others; 100 by default. Those that need a disk get few. */
  readonly share?: number;
  /** Milliseconds for one input; 50 by default, as everything that an agent reads while it works. */
  readonly longest?: number;
  open(): Session | Promise<Session>;
}

export interface Session {
  /** An input as it should be. */
  example(random: SeededRandom): string | Uint8Array;
  /**
   * Reads an input, and answers whether it was taken. A refusal by the reader's own error is no failure; whatever this throws is one.
   * `random` decides what is not part of the input, for example where a stream is cut.
   */
  run(input: Buffer, random: SeededRandom): boolean | Promise<boolean>;
  close?(): void;
}

/** A promise that a reader broke without throwing. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

export function ensure(holds: boolean, promise: string): void {
  if (!holds) throw new BrokenPromise(promise);
}

/** False where the reader refused with an error of its own, by name. */
export function taken(errors: readonly string[], read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof Error && errors.includes(error.name)) return false;
    throw error;
  }
}

export async function takenLater(errors: readonly string[], read: () => Promise<unknown>): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    if (error instanceof Error && errors.includes(error.name)) return false;
    throw error;
  }
}

/** The JSON in it; undefined: it is none, and most readers see it no more. */
export function jsonIn(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}
