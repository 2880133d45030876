import type { KubeObject } from "../../../agent/api/meta.ts";
import { type Resource, resourceName } from "../../../agent/api/resources.ts";
import type { Clock } from "../../../agent/base/clock.ts";
import {
  neverConnected,
  recordClose,
  recordNews,
  recordOpen,
  recordProof,
  recordReceipt,
  type WatchHealth,
  type WatchLimits,
} from "../../../agent/informer/watch-health.ts";

/**
 * The link to the API server. `half-open`: connected, requests are answered, and the watches deliver nothing.
 * `unwatched`: requests are answered, and the watches are broken, as while the cache cannot be written.
 */
export type LinkState = "up" | "cut" | "half-open" | "unwatched";

/** A link that can fail, and what the watches on it show of their health. */
export class SiteLink {
  state: LinkState = "up";
  /** The kinds whose watches are live and late: their changes stay on the way. */
  readonly late = new Set<string>();
  readonly #clock: Clock;
  readonly #limits: WatchLimits;
  readonly #healths = new Map<string, WatchHealth>();

  constructor(clock: Clock, limits: WatchLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get answers(): boolean {
    return this.state !== "cut";
  }

  get delivers(): boolean {
    return this.state === "up";
  }

  /** Whether what happens now reaches the caches. */
  brings(resource: Resource<KubeObject>): boolean {
    return this.delivers && !this.late.has(resource.kind);
  }

  healthOf(resource: Resource<KubeObject>): WatchHealth {
    const name = resourceName(resource);
    const found = this.#healths.get(name) ?? this.#opened(neverConnected);
    this.#healths.set(name, found);
    return found;
  }

  received(resource: Resource<KubeObject>): void {
    const now = this.#clock.now();
    const health = recordReceipt(this.healthOf(resource), this.#limits, now);
    this.#healths.set(resourceName(resource), recordProof(recordNews(health, now), now));
  }

  /** Every watch receives one. It is a proof unless the link is half-open. */
  bookmark(): void {
    if (this.state === "cut" || this.state === "unwatched") return;
    const now = this.#clock.now();
    this.#change((health) => {
      const next = recordReceipt(health, this.#limits, now);
      return this.delivers ? recordProof(recordNews(next, now), now) : next;
    });
  }

  /** Ends the watches. */
  fail(state: "cut" | "unwatched"): void {
    this.state = state;
    this.#change((health) => recordClose(health, this.#limits, this.#clock.now()));
  }

  /** Opens the watches again, whatever they may deliver. */
  open(): void {
    this.#change((health) => this.#opened(health));
  }

  #opened(health: WatchHealth): WatchHealth {
    const now = this.#clock.now();
    return recordProof(recordOpen(health, this.#limits, now), now);
  }

  #change(next: (health: WatchHealth) => WatchHealth): void {
    for (const [name, health] of this.#healths) this.#healths.set(name, next(health));
  }
}
