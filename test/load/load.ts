/** A load for an agent. */
export interface Load {
  readonly name: string;
  readonly summary: string;
  run(context: LoadContext): Promise<void>;
}

export interface LoadContext {
  readonly seed: number;
  /** Duration of lasting loads in seconds. */
  readonly seconds: number;
  /** Number of objects in loads of many objects. */
  readonly objects: number;
  say(line: string): void;
  /** Records a fault if the condition is false; the load continues. */
  check(holds: boolean, what: string): void;
}
