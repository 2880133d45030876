import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, shifted } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import { decodeHolds, encodeHolds, type Holds, isAlike, isNothing, noHolds, prune } from "./holds.ts";

const area = "holds";
/** The value under `#olderKey` after a restore, until the annotation of the restored Lease has been read. */
const unread = "unread";
/** The maximum difference between the ends of the same hold in two readings. */
const tolerance: Millis = 120_000;

export interface HoldMemoryDeps {
  readonly facts: KeyValueStore;
  readonly bootId: string;
  /** The site's Lease, such as "kube-system/siteward-plant7". */
  readonly lease: string;
}

/**
 * This board's own copy of the holds, in case the Lease is deleted. It is stored with the uid of the Lease to which it
 * belongs, and with that Lease's cluster if it is known, because a board may come from another cluster that has a Lease
 * with the same name, and the change counts of two Leases cannot be compared.
 */
export class HoldMemory {
  readonly #ambient: Ambient;
  readonly #facts: KeyValueStore;
  readonly #bootId: string;
  /** The key of the copy. It includes the Lease, because holds belong to a site. */
  readonly #key: string;
  /**
   * The key under which this board records that the Lease was restored from a backup, and so is older than this copy.
   * The value is the annotation as first read after the restore.
   */
  readonly #olderKey: string;
  /** The content of the copy; undefined if it has not been read or written yet. */
  #stored: Holds | undefined;
  /** The cluster that this process runs in; undefined if it has not been identified yet. */
  #cluster: string | undefined;

  constructor(ambient: Ambient, { facts, bootId, lease }: HoldMemoryDeps) {
    this.#ambient = ambient;
    this.#key = `kept ${lease}`;
    this.#olderKey = `older ${lease}`;
    this.#facts = facts;
    this.#bootId = bootId;
  }

  /** Reads the copy. After a reboot, whose duration is unknown, the remaining times restart as they were stored. */
  read(now: Instant): Holds {
    const text = this.#facts.get(area, this.#key) ?? "";
    if (text === "") return noHolds;
    try {
      const { boot, at, holds } = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const ago = boot === this.#bootId && typeof at === "number" ? Math.max(0, now.mono - at) : 0;
      return decodeHolds(typeof holds === "string" ? holds : undefined, shifted(now, -ago)) ?? noHolds;
    } catch (error) {
      this.#ambient.log.warn("this board's copy of the holds cannot be read", { error });
      return noHolds;
    }
  }

  /** Writes the copy for the Lease with the uid `lease`. If this fails, no hold is lost, because the Lease has them. */
  write(holds: Holds, lease: string, now: Instant): void {
    this.#stored = holds;
    try {
      const former = this.#origin();
      const cluster = this.#cluster ?? (former?.lease === lease ? former.cluster : undefined);
      const kept = { boot: this.#bootId, at: now.mono, lease, cluster, holds: encodeHolds(holds, now) };
      const text = isNothing(holds) && holds.changes === 0 ? "" : JSON.stringify(kept);
      // A board that never had a hold writes nothing.
      if (text !== "" || (this.#facts.get(area, this.#key) ?? "") !== "") this.#facts.set(area, this.#key, text);
    } catch (error) {
      this.#ambient.log.warn("this board's copy of the holds cannot be written", { error });
    }
  }

  /** Called once the cluster is identified. */
  identified(cluster: string): void {
    this.#cluster = cluster;
  }

  /**
   * Whether this Lease and the copy belong to the same cluster. They do if the Lease has the uid of the copy's Lease,
   * even after a restore. A copy from an unknown cluster counts as belonging to this cluster, because deleting a Lease
   * must not end a freeze.
   */
  home(lease: string): "here" | "elsewhere" | "undecided" {
    const { lease: own, cluster } = this.#origin() ?? {};
    if (own === lease || cluster === undefined || cluster === this.#cluster) return "here";
    return this.#cluster === undefined ? "undecided" : "elsewhere";
  }

  /** Called when the Lease was restored from a backup. This copy is then newer until another board leads. */
  restored(): void {
    this.#facts.set(area, this.#olderKey, unread);
  }

  /**
   * Whether the Lease's annotation is older than this copy. After a restore, the annotation is older until its text
   * changes, or until it counts more changes than this copy, which means that another board has led since. An
   * annotation that counts fewer changes is also older, because the Lease was restored while this board was off or
   * unable to notice it. The annotation of a Lease whose uid differs from the copy's is never older.
   */
  isOlder(text: string | undefined, lease: string): boolean {
    const stored = this.#facts.get(area, this.#olderKey) ?? "";
    if (text !== undefined && this.#isOfAnother(lease)) {
      if (stored !== "") this.#facts.set(area, this.#olderKey, "");
      return false;
    }
    const mark = stored === "" && this.#isAhead(text) ? unread : stored;
    if (mark === "") return false;
    const found = `says ${text ?? "nothing"}`;
    if (mark === unread && this.#isBehind(text)) {
      this.#facts.set(area, this.#olderKey, "");
      return false;
    }
    if (mark === unread) this.#facts.set(area, this.#olderKey, found);
    else if (mark !== found) this.#facts.set(area, this.#olderKey, "");
    return mark === unread || mark === found;
  }

  /** Whether this copy counts fewer changes than the annotation. */
  #isBehind(text: string | undefined): boolean {
    const now = this.#ambient.clock.now();
    return (decodeHolds(text, now)?.changes ?? 0) > this.read(now).changes;
  }

  /** Whether this copy counts more changes than the annotation. */
  #isAhead(text: string | undefined): boolean {
    const now = this.#ambient.clock.now();
    const found = decodeHolds(text, now);
    return found !== undefined && found.changes < this.read(now).changes;
  }

  /** Stores holds that were read from the Lease, if they or the Lease's uid differ from the copy. */
  note(found: Holds, lease: string, now: Instant): void {
    this.#stored ??= this.read(now);
    const origin = this.#origin();
    const isOwn = origin === undefined || origin.lease === lease;
    if (!isOwn || !isAlike(prune(found, now), prune(this.#stored, now), tolerance)) this.write(found, lease, now);
  }

  /**
   * Whether the copy belongs to a Lease of another uid; false for a copy written by an older program version, which has
   * no uid.
   */
  #isOfAnother(lease: string): boolean {
    const own = this.#origin()?.lease;
    return own !== undefined && own !== lease;
  }

  /** The Lease and the cluster of the copy; undefined if there is no copy. */
  #origin(): { readonly lease: string | undefined; readonly cluster: string | undefined } | undefined {
    const text = this.#facts.get(area, this.#key) ?? "";
    if (text === "") return undefined;
    const { lease, cluster } = recordIn(text) ?? {};
    return {
      lease: typeof lease === "string" ? lease : undefined,
      cluster: typeof cluster === "string" ? cluster : undefined,
    };
  }
}
