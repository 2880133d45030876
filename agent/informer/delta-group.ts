import type { Delta } from "../../storage/object.ts";
import type { Clock, Millis, Timer } from "../base/clock.ts";

/** Where a group is written: deltas and position together, or the position alone. */
export interface DeltaSink<T> {
  append(deltas: readonly Delta<T>[], resourceVersion: string): void;
  bookmark(resourceVersion: string): void;
}

export interface DeltaGroupParts<T> {
  readonly store: DeltaSink<T>;
  /** A group was written. */
  readonly stored: () => void;
  /** A group that was due could not be written. */
  readonly failed: (error: unknown) => void;
}

const mostDeltas = 64;
const longestWait: Millis = 50;

/**
 * Collects the events of 50 ms, or 64 deltas, into one transaction: one write to flash.
 *
 * If the write fails, the group is dropped from memory and the stored position still precedes it, so the next watch
 * delivers it again.
 */
export class DeltaGroup<T> {
  readonly #clock: Clock;
  readonly #parts: DeltaGroupParts<T>;
  #deltas: Delta<T>[] = [];
  #position: string | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, parts: DeltaGroupParts<T>) {
    this.#clock = clock;
    this.#parts = parts;
  }

  get isFull(): boolean {
    return this.#deltas.length >= mostDeltas;
  }

  get isEmpty(): boolean {
    return this.#position === undefined;
  }

  /** `delta` undefined: the object is not kept, but its resourceVersion still advances the position. */
  add(delta: Delta<T> | undefined, resourceVersion: string): void {
    if (delta) this.#deltas.push(delta);
    this.#position = resourceVersion;
    this.#timer ??= this.#clock.after(longestWait, () => this.#due());
  }

  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const [deltas, position] = [this.#deltas, this.#position];
    if (position === undefined) return;
    this.#deltas = [];
    this.#position = undefined;
    if (deltas.length === 0) {
      this.#parts.store.bookmark(position);
      return;
    }
    this.#parts.store.append(deltas, position);
    this.#parts.stored();
  }

  #due(): void {
    try {
      this.flush();
    } catch (error) {
      this.#parts.failed(error);
    }
  }
}
