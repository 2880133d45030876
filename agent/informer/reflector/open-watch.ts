import type { KubeObject } from "../../api/meta.ts";
import { type Clock, elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { WatchEvent } from "../../client/watch-stream.ts";
import type { DeltaGroup } from "./delta-group.ts";
import type { StallGuard } from "./stall-guard.ts";
import { isUsable } from "./watch-errors.ts";

/** One watch, from its request to its end. */
export class OpenWatch<T extends KubeObject> {
  /** The watch, for messages. */
  readonly what: string;
  readonly began: Instant;
  readonly guard: StallGuard;
  /** The events that are not stored yet. */
  readonly group: DeltaGroup<T>;
  readonly #clock: Clock;
  #events = 0;
  #heardAt: Instant;

  constructor(
    clock: Clock,
    { what, guard, group }: { readonly what: string; readonly guard: StallGuard; readonly group: DeltaGroup<T> },
  ) {
    this.#clock = clock;
    this.what = what;
    this.guard = guard;
    this.group = group;
    this.began = this.#heardAt = clock.now();
  }

  /** The server has answered the request. */
  opened(): void {
    this.guard.touch();
  }

  /** An event has arrived, of any kind. */
  heard(event: WatchEvent<T>): void {
    if (isUsable(event)) this.#events++;
    this.guard.touch();
    this.#heardAt = this.#clock.now();
  }

  /** Number of usable events. */
  get events(): number {
    return this.#events;
  }

  get age(): Millis {
    return elapsed(this.began, this.#clock.now());
  }

  /** Time since the last event, or since the request if none has arrived. */
  get silentFor(): Millis {
    return elapsed(this.#heardAt, this.#clock.now());
  }
}
