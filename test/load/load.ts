/** A load that stays: what it did, in numbers, and what was not as it should be. */
export interface Load {
  readonly name: string;
  readonly summary: string;
  run(context: LoadContext): Promise<void>;
}

export interface LoadContext {
  readonly seed: number;
  /** How long what lasts goes on. */
  readonly seconds: number;
  /** How many there are of what is many. */
  readonly objects: number;
  say(line: string): void;
  /** Notes a fault where it does not hold; the load goes on. */
  check(holds: boolean, what: string): void;
}
