import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import { decodeValve, encodeValve, isCounted, type OwnCopy } from "./valve.ts";

const area = "valve";
/** Minimum interval at which a follower stores what it reads on the Lease. */
const storeEvery: Millis = 60_000;

export interface ValveMemoryDeps {
  readonly facts: KeyValueStore;
  readonly bootId: string;
  /** The site's Lease, such as "kube-system/siteward-plant7". */
  readonly lease: string;
}

/** This board's own copy of the site's harmful acts, in case the Lease is deleted or restored. */
export class ValveMemory {
  readonly #ambient: Ambient;
  readonly #facts: KeyValueStore;
  readonly #bootId: string;
  readonly #key: string;
  readonly #restoredKey: string;
  #storedAt: Instant | undefined;
  #storedTotal: number | undefined;

  constructor(ambient: Ambient, { facts, bootId, lease }: ValveMemoryDeps) {
    this.#ambient = ambient;
    this.#facts = facts;
    this.#bootId = bootId;
    this.#key = `kept ${lease}`;
    this.#restoredKey = `restored ${lease}`;
  }

  /** The stored copy. After a reboot, whose duration is unknown, its acts count as if they had just been done. */
  read(): OwnCopy | undefined {
    const found = recordIn(this.#facts.get(area, this.#key) ?? "") ?? {};
    const { lease, valve: text } = found;
    if (typeof lease !== "string" || typeof text !== "string") return undefined;
    const now = this.#ambient.clock.now();
    const at = this.#stamped(found, now);
    const valve = decodeValve(text, at ?? now);
    this.#storedTotal = valve?.total;
    // The age of a copy from before a reboot is unknown.
    return valve && { valve, lease, at: at ?? shifted(now, Number.NEGATIVE_INFINITY) };
  }

  /** Stores the copy if acts have been admitted since; on a calm site, nothing is written. */
  write({ valve, lease }: OwnCopy, when: "at once" | "when due"): void {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const isDue = when === "at once" || this.#storedAt === undefined || elapsed(this.#storedAt, now) >= storeEvery;
    if (valve.total === (this.#storedTotal ?? 0) || !isDue) return;
    try {
      this.#facts.set(area, this.#key, JSON.stringify({ ...this.#stamp(now), lease, valve: encodeValve(valve, now) }));
      this.#storedAt = now;
      this.#storedTotal = valve.total;
    } catch (error) {
      log.warn("this board's copy of the record of harmful acts cannot be written", { error });
    }
  }

  /** Called when the API server was restored from a backup, because the Lease may then lack acts of the last hour. */
  restored(): void {
    this.#facts.set(area, this.#restoredKey, JSON.stringify(this.#stamp(this.#ambient.clock.now())));
  }

  /** Whether the API server was restored within the last hour. */
  get wasRestored(): boolean {
    const text = this.#facts.get(area, this.#restoredKey) ?? "";
    if (text === "") return false;
    const now = this.#ambient.clock.now();
    const at = this.#stamped(recordIn(text) ?? {}, now);
    // After a reboot, the hour begins again.
    if (at === undefined) this.restored();
    if (at === undefined || isCounted(at, now)) return true;
    this.#facts.set(area, this.#restoredKey, "");
    return false;
  }

  #stamp(now: Instant): { readonly boot: string; readonly at: Millis } {
    return { boot: this.#bootId, at: now.mono };
  }

  /** The instant of a stamp; undefined if it is from another boot, or invalid. */
  #stamped({ boot, at }: Readonly<Record<string, unknown>>, now: Instant): Instant | undefined {
    return boot === this.#bootId && typeof at === "number" ? shifted(now, -Math.max(0, now.mono - at)) : undefined;
  }
}
