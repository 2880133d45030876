import type { Lease } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { compareVersions } from "../api/resource-version.ts";
import { leases } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { ApiError, isGone } from "../client/api-error.ts";
import type { InformerClient } from "./informer-set.ts";
import { untilAborted } from "./until-aborted.ts";

/** One version of the site's Lease, recognisable by a later read. */
export interface Witness {
  readonly uid: string;
  readonly version: string;
  /** Its renewTime. Two histories may assign one version number twice, but not to the same renewal. */
  readonly renewal: number | undefined;
}

/** The API server's store went back to an earlier state: nothing in the cache is reliable. */
export class ServerRestoredError extends Error implements HasDisposition {
  override readonly name = "ServerRestoredError";
  readonly disposition = "rebuild";
  readonly hint =
    "Nothing has to be done here. Restart every API server after a restore, and let etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted make all clients notice.";
}

export interface ServerHistoryParts {
  readonly client: Pick<InformerClient, "get" | "list">;
  /** The site's Lease. */
  readonly at: { readonly namespace: string; readonly name: string };
  /** The witness of the stored cache; undefined if the cache is empty or older than this rule. */
  readonly known: { readonly witness: Witness; readonly chain: string } | undefined;
  /** Called once, before the error is thrown. */
  readonly restored: (error: ServerRestoredError) => void;
  /** Writes a new version of the Lease if this board may: earlier versions do not prove a list stored since. */
  readonly renew: () => Promise<void>;
  /** A restore was noticed lately: API servers not restarted since may still serve their watch cache from before it. */
  readonly isWary: boolean;
  /** Called when the restore is long enough ago. */
  readonly reassured: () => void;
}

const pauseAfterFailure: Millis = 10_000;
/** Lists come several at a time: one new version of the Lease proves them all. */
const pauseAfterList: Millis = 500;
/** By then every API server was restarted. */
const wariness: Millis = 3_600_000;
/** Maximum number of lost connections that cause a list meanwhile: an unstable link must not do nothing but list. */
const mostWaryDoubts = 8;

/**
 * Checks whether the API server's store still has the history that the cache was filled from. A watch position cannot
 * show that: a store restored from a backup accepts it as soon as its own revision has passed it.
 *
 * The site's Lease is the witness. It is written all the time, it is read from the store and never from a watch cache,
 * and each version is recognisable by its renewTime. etcd orders all writes, so a server that has a version of the
 * Lease which we know also has everything before it. Versions of the Lease are compared only with each other: events
 * and other kinds may live in another store.
 *
 * Versions that follow each other form a chain: each was written by us upon the one before, or the server proved to
 * have both. If that fails without proof of a restore, a new chain begins, and everything cached in the old one is
 * listed again.
 *
 * The Lease proves nothing about an API server's watch cache: one that was not restarted with its store goes on serving
 * the former history, under versions of the present one. So for a while after a restore the next server may be the
 * first correct one, and a lost connection begins a new chain too.
 */
export class ServerHistory {
  readonly #ambient: Ambient;
  readonly #parts: ServerHistoryParts;
  readonly #bell: WakeSignal;
  readonly #lists: WakeSignal;
  readonly #noticing = Promise.withResolvers<never>();
  /** The newest version of the current chain. */
  #known: Witness | undefined;
  /** The newest version of the chain while there was no doubt. */
  #steady: Witness | undefined;
  #chain: string;
  /** The newest version seen, whether or not it is linked to the chain. */
  #latest: Witness | undefined;
  #doubts = 1;
  #answered = 0;
  #waryDoubts: number;
  #asking: Promise<void> | undefined;
  #restored: ServerRestoredError | undefined;
  #isHome = false;
  /** Restores suggested by a Lease of another uid, held until the cluster is known: another one has other Leases. */
  readonly #undecided: (() => void)[] = [];

  constructor(ambient: Ambient, parts: ServerHistoryParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#bell = new WakeSignal(ambient.clock);
    this.#lists = new WakeSignal(ambient.clock);
    this.#known = this.#latest = parts.known?.witness;
    this.#chain = parts.isWary ? this.#newChain() : (parts.known?.chain ?? this.#newChain());
    this.#waryDoubts = parts.isWary ? mostWaryDoubts : 0;
    this.#noticing.promise.catch(() => {});
  }

  /** Everything received over a watch that did not break before this version belongs to the history it proves. */
  get known(): Witness | undefined {
    return this.#known;
  }

  /** The version known before the first unanswered doubt, when a watch that broke then was still open. */
  get steady(): Witness | undefined {
    return this.#steady;
  }

  /** The site's Lease, by namespace and name: the Lease of another site proves nothing. */
  get lease(): string {
    return keyOf({ metadata: this.#parts.at });
  }

  get chain(): string {
    return this.#chain;
  }

  /** The Lease as just read. Only for reads and writes in sequence. */
  saw(found: Witness): void {
    this.#compare(found, this.#latest);
    this.#latest = found;
    if (!isSame(found, this.#known)) this.#unlinked();
  }

  /** The number of doubts so far. A successful write answers the doubts that existed when it was sent. */
  get doubts(): number {
    return this.#doubts;
  }

  /**
   * The Lease as we just wrote it upon version `from`, which the server therefore had; `from` undefined: it was
   * created. `doubts`: their number when the write was sent.
   */
  wrote(from: string | undefined, written: Witness, doubts: number): void {
    const before = this.#latest;
    this.#compare(written, before);
    this.#latest = written;
    if (this.#known === undefined || this.#known.version !== from) this.#unlinked();
    else {
      this.#known = written;
      this.#answered = Math.max(this.#answered, doubts);
      if (this.#answered === this.#doubts) this.#steady = written;
    }
  }

  /** The server belongs to the cluster that the cache is of. Throws if a restore was held back until this was known. */
  home(): void {
    this.#isHome = true;
    for (const decide of this.#undecided.splice(0)) decide();
  }

  /** The connection was lost: the server that answers next may have another history. */
  doubt(): void {
    // Each stream of a lost connection reports the loss.
    if (this.#waryDoubts > 0 && this.#answered === this.#doubts) {
      this.#waryDoubts--;
      this.#chain = this.#newChain();
    }
    this.#doubts++;
  }

  /**
   * Ends when the server has proved, since the last doubt, to have all of the current chain. Rejects if it does not
   * answer, and if it was restored.
   */
  async settle(signal: AbortSignal): Promise<void> {
    while (this.#answered < this.#doubts) {
      signal.throwIfAborted();
      const isOurs = this.#asking === undefined;
      this.#asking ??= this.#ask(signal).finally(() => {
        this.#asking = undefined;
      });
      try {
        await this.#asking;
      } catch (error) {
        // A question asked by another caller may have ended with that caller's signal.
        if (isOurs || error instanceof ApiError) throw error;
        if (this.#restored) throw this.#restored;
      }
    }
  }

  /** Rejects once the server is known to be restored; ends when the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await Promise.all([untilAborted(this.#noticing.promise, signal), this.#calmDown(signal)]);
  }

  /** Links versions of the Lease written by others to the chain while this board mirrors the site, until aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    while (!signal.aborted) {
      await this.#bell.wait(signal);
      if (signal.aborted) return;
      try {
        await this.settle(signal);
      } catch (error) {
        if (error instanceof ServerRestoredError) throw error;
        log.debug("the server's history is not proven yet", { error });
        await sleep(clock, pauseAfterFailure, signal);
        this.#bell.ring();
      }
    }
  }

  /** A list was stored. */
  listed(): void {
    this.#lists.ring();
  }

  /**
   * Has lists proven soon: a link that breaks before costs them once more. `proven` is called when the lists stored before
   * are proven. Ends when the signal aborts.
   */
  async proveLists(signal: AbortSignal, proven: () => void): Promise<void> {
    const { clock } = this.#ambient;
    while (!signal.aborted) {
      await this.#lists.wait(signal);
      await sleep(clock, pauseAfterList, signal);
      if (signal.aborted) return;
      try {
        await this.#parts.renew();
        proven();
      } catch {
        // Another board leads: its next renewal proves the lists of this one.
      }
    }
  }

  /** Begins a new chain, so that data from a server whose connection never broke is listed once more. */
  async #calmDown(signal: AbortSignal): Promise<void> {
    if (!this.#parts.isWary) return;
    await sleep(this.#ambient.clock, wariness, signal);
    if (signal.aborted) return;
    this.#waryDoubts = 0;
    this.#chain = this.#newChain();
    this.#parts.reassured();
  }

  #unlinked(): void {
    this.#doubts++;
    this.#bell.ring();
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const doubts = this.#doubts;
    const [known, latest] = [this.#known, this.#latest];
    const found = await this.#read(signal);
    if (found !== undefined) this.#compare(found, latest);
    const isLinked =
      known !== undefined && found !== undefined && (isSame(found, known) || (await this.#had(known, found, signal)));
    this.#answered = Math.max(this.#answered, doubts);
    // A write of ours that succeeded meanwhile was based on the version we knew.
    const isNewer = this.#known !== undefined && this.#known !== known;
    if (isLinked) {
      if (!isNewer) this.#known = found;
      return;
    }
    if (known !== undefined) {
      this.#ambient.log.info("the server's history is not proven to be the one that was cached: what it was is listed");
      this.#chain = this.#newChain();
    }
    if (known !== undefined || !isNewer) this.#known = found;
  }

  async #read(signal: AbortSignal): Promise<Witness | undefined> {
    try {
      return witnessOf(await this.#parts.client.get(leases, this.#parts.at, signal));
    } catch (error) {
      if (isUnanswerable(error)) return undefined;
      throw error;
    }
  }

  /** Whether the server has this version in its history. False also if it no longer knows. */
  async #had(known: Witness, now: Witness, signal: AbortSignal): Promise<boolean> {
    const { client, at } = this.#parts;
    const found: Witness[] = [];
    const exact = { resourceVersion: known.version, resourceVersionMatch: "Exact" } as const;
    const options = { namespace: at.namespace, fieldSelector: `metadata.name=${at.name}`, ...exact };
    try {
      await client.list(leases, options, (lease) => found.push(witnessOf(lease)), signal);
    } catch (error) {
      if (isGone(error) || isUnanswerable(error)) return false;
      throw error;
    }
    const [then] = found;
    if (isSame(then, known)) return true;
    const how = `at version ${known.version} of the site's Lease it has ${then ? "another one" : "none"}`;
    this.#notice(how, now.uid === known.uid);
    return false;
  }

  #compare(found: Witness, before: Witness | undefined): void {
    if (before === undefined) return;
    const order = compareVersions(found.version, before.version);
    if (order > 0 || isSame(found, before)) return;
    const how =
      order < 0
        ? `the site's Lease went back from version ${before.version} to ${found.version}`
        : `version ${found.version} of the site's Lease is another one than before`;
    this.#notice(how, found.uid === before.uid);
  }

  /** Throws, at once or when the cluster is known. `isSameLease`: no other cluster has a Lease of this uid. */
  #notice(how: string, isSameLease: boolean): void {
    if (isSameLease || this.#isHome) throw this.#noticed(how);
    this.#undecided.push(() => {
      throw this.#noticed(how);
    });
  }

  #noticed(how: string): ServerRestoredError {
    if (this.#restored === undefined) {
      this.#restored = new ServerRestoredError(`the API server's store went back to an earlier state: ${how}`);
      this.#parts.restored(this.#restored);
      this.#noticing.reject(this.#restored);
    }
    return this.#restored;
  }

  #newChain(): string {
    return Math.floor(this.#ambient.random.next() * 2 ** 40).toString(36);
  }
}

/** The Lease is missing or may not be read, or the server does not support the request. */
const isUnanswerable = (error: unknown): boolean =>
  error instanceof ApiError && [400, 403, 404, 405, 422].includes(error.status);

export function witnessOf({ metadata, spec }: Lease): Witness {
  const renewal = typeof spec?.renewTime === "string" ? Date.parse(spec.renewTime) : Number.NaN;
  const { uid, resourceVersion: version } = metadata;
  return { uid, version, renewal: Number.isNaN(renewal) ? undefined : renewal };
}

const isSame = (a: Witness | undefined, b: Witness | undefined): boolean =>
  a !== undefined && b !== undefined && a.uid === b.uid && a.version === b.version && a.renewal === b.renewal;
