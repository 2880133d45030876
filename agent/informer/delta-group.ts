import type { Delta } from "../../storage/object.ts";
import type { Clock, Millis, Timer } from "../base/clock.ts";

/** What a group writes to: deltas and position together, or the position alone. */
export interface DeltaSink<T> {
  append(deltas: readonly Delta<T>[], resourceVersion: string): void;
  bookmark(resourceVersion: string): void;
}

export interface DeltaGroupParts<T> {
  readonly store: DeltaSink<T>;
  /** A group was written. */
  readonly stored: () => void;
  /** A group whose time was over could not be written. */
  readonly failed: (error: unknown) => void;
}

const mostDeltas = 64;
const longestWait: Millis = 50;

/**
 * Collects what arrives within 50 ms, or 64 deltas, into one transaction, one write to flash.
 *
 * Where that fails the group is gone from memory, and the stored position still stands before it: the watch that
 * follows brings it again.
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

  /** `delta` undefined: an object that we do not keep moved the position all the same. */
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
