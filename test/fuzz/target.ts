import type { SeededRandom } from "../support/seeded-random.ts";

/** A reader of input from outside. */
export interface Target {
  readonly name: string;
  /** How examples are changed: as a tree, word by word, or byte by byte. Trees are also changed as text and bytes. */
  readonly form: "json" | "text" | "bytes";
  /** The target's relative share of all inputs; 100 by default, less for targets that need a disk. */
  readonly share?: number;
  /** Milliseconds for one input; 50 by default, for everything that an agent reads while it works. */
  readonly longest?: number;
  open(): Session | Promise<Session>;
}

export interface Session {
  /** A valid input. */
  example(random: SeededRandom): string | Uint8Array;
  /**
   * Reads an input and returns whether it was accepted. A refusal with the reader's own error is not a failure; anything thrown is.
   * `random` determines circumstances outside the input, for example where a stream is cut.
   */
  run(input: Buffer, random: SeededRandom): boolean | Promise<boolean>;
  close?(): void;
}

/** Thrown for a promise that a reader broke without throwing. */
export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise";
}

export function ensure(holds: boolean, promise: string): void {
  if (!holds) throw new BrokenPromise(promise);
}

/** False if the reader refused with its own error, recognised by name. */
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

/** The parsed JSON; undefined if it is invalid, in which case most readers never get it. */
export function jsonIn(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}
