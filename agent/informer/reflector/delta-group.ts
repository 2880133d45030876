import type { Delta, DeltaType } from "../../../storage/object.ts";
import type { Clock, Millis, Timer } from "../../base/clock.ts";
import { Batch } from "./batch.ts";

/** The store that a group is written to. */
export interface DeltaSink<T> {
  /** Stores deltas and position together. */
  append(deltas: readonly Delta<T>[], resourceVersion: string): void;
  /** Moves only the position. */
  bookmark(resourceVersion: string): void;
}

export interface DeltaGroupDeps<T> {
  readonly store: DeltaSink<T>;
  /** Called after a group was written. */
  readonly stored: () => void;
  /** Called if a write started by the timer has failed; `flush` throws instead. */
  readonly failed: (error: unknown) => void;
}

/** The type of delta that each type of watch event becomes. */
export const deltaTypes = { ADDED: "Added", MODIFIED: "Updated", DELETED: "Deleted" } as const satisfies Record<
  string,
  DeltaType
>;

const maxWait: Millis = 50;

/**
 * Collects the events of up to 50 ms for one transaction, and so for one write to flash. The group is full at 64
 * deltas, or fewer if they are large.
 *
 * If the write fails, the group is dropped from memory; the stored position still precedes it, so the next watch
 * redelivers its events.
 */
export class DeltaGroup<T> {
  readonly #clock: Clock;
  readonly #deps: DeltaGroupDeps<T>;
  readonly #deltas = new Batch<Delta<T>>();
  #position: string | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, deps: DeltaGroupDeps<T>) {
    this.#clock = clock;
    this.#deps = deps;
  }

  get isFull(): boolean {
    return this.#deltas.isFull;
  }

  get isEmpty(): boolean {
    return this.#position === undefined;
  }

  /** Adds an event. `delta` is undefined if its object is not kept, and only the position advances. */
  add(delta: Delta<T> | undefined, resourceVersion: string): void {
    if (delta) this.#deltas.add(delta, delta.object);
    this.#position = resourceVersion;
    this.#timer ??= this.#clock.after(maxWait, () => this.#flushOnTimer());
  }

  /** Writes the group. Throws if the store cannot be written. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const position = this.#position;
    if (position === undefined) return;
    const deltas = this.#deltas.take();
    this.#position = undefined;
    if (deltas.length === 0) {
      this.#deps.store.bookmark(position);
      return;
    }
    this.#deps.store.append(deltas, position);
    this.#deps.stored();
  }

  #flushOnTimer(): void {
    try {
      this.flush();
    } catch (error) {
      this.#deps.failed(error);
    }
  }
}
