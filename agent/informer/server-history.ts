import type { Lease } from "../api/core.ts";
import { compareVersions } from "../api/resource-version.ts";
import { leases } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { ApiError, isGone } from "../client/api-error.ts";
import type { InformerClient } from "./informer-set.ts";
import { untilAborted } from "./until-aborted.ts";

/** One version of the site's Lease, as a later read recognises it. */
export interface Witness {
  readonly uid: string;
  readonly version: string;
  /** Its renewTime. Two histories may give one version number twice, but not to the same renewal. */
  readonly renewal: number | undefined;
}

/** The API server's store went back to an earlier state: nothing that was cached can be relied on. */
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
  /** What the cache was filled beside; undefined: it is empty, or older than this rule. */
  readonly known: { readonly witness: Witness; readonly chain: string } | undefined;
  /** Called once, before the error is thrown. */
  readonly restored: (error: ServerRestoredError) => void;
  /** Writes a new version of the Lease where this board may: no earlier one proves a list that was taken in since. */
  readonly renew: () => Promise<void>;
  /** A restore was noticed lately: API servers that were not restarted since may still serve what they cached before it. */
  readonly isWary: boolean;
  /** Called when that is long enough ago. */
  readonly reassured: () => void;
}

const pauseAfterFailure: Millis = 10_000;
/** Lists come several at a time: one new version of the Lease proves them all. */
const pauseAfterList: Millis = 500;
/** By then every API server was restarted. */
const wariness: Millis = 3_600_000;
/** So many lost connections cost a list meanwhile: a link that breaks all the time would do nothing but list. */
const mostWaryDoubts = 8;

/**
 * Whether the API server's store still has the history that the cache was filled from. A watch position cannot tell: a
 * store that was restored from a backup accepts it as soon as its own count has passed it.
 *
 * The site's Lease is the witness. It is written all the time, it is read from the store and never from a watch cache, and
 * a version of it is recognised by its renewTime. etcd orders all writes, so a server that has a version of the Lease which
 * we know also has everything before it. Versions of the Lease are compared with versions of the Lease only: events and
 * other kinds may live in a store of their own.
 *
 * Versions that follow from each other form a chain: each was written by us upon the one before, or the server proved to
 * have both. Where that fails without proof of a restore, a new chain begins, and what was cached in the old one is
 * listed again.
 *
 * The Lease says nothing of an API server's watch cache: one that was not restarted with its store serves the former
 * history on, under versions of the present one. So for a while after a restore the next server may be the first that is
 * right, and a lost connection begins a new chain as well.
 */
export class ServerHistory {
  readonly #ambient: Ambient;
  readonly #parts: ServerHistoryParts;
  readonly #bell: WakeSignal;
  readonly #lists: WakeSignal;
  readonly #noticing = Promise.withResolvers<never>();
  /** The newest version of the present chain. */
  #known: Witness | undefined;
  /** The same, while there was no doubt. */
  #steady: Witness | undefined;
  #chain: string;
  /** The newest version that was seen, whether or not it is linked with the chain. */
  #latest: Witness | undefined;
  #doubts = 1;
  #answered = 0;
  #waryDoubts: number;
  #asking: Promise<void> | undefined;
  #restored: ServerRestoredError | undefined;
  #isHome = false;
  /** What a Lease of another uid says of a restore, until it is known that the cluster is the same: another one has none of ours. */
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

  /** What came over a watch that did not break before this was written belongs to the history that it proves. */
  get known(): Witness | undefined {
    return this.#known;
  }

  /** As known before the first doubt that is not answered yet: a watch that broke then was still open. */
  get steady(): Witness | undefined {
    return this.#steady;
  }

  /** The site's Lease, by namespace and name: that of another site proves nothing. */
  get lease(): string {
    return nameOf(this.#parts.at);
  }

  get chain(): string {
    return this.#chain;
  }

  /** The Lease as it was just read. Only for reads and writes that follow one another. */
  saw(found: Witness): void {
    this.#compare(found, this.#latest);
    this.#latest = found;
    if (!isSame(found, this.#known)) this.#unlinked();
  }

  /** How often the history was doubted so far. A write that is sent now and goes through answers these doubts. */
  get doubts(): number {
    return this.#doubts;
  }

  /**
   * The Lease as we just wrote it upon version `from`, which the server therefore had; undefined: it was created.
   * `doubts`: as they were when the write was sent.
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

  /** The server is known to be of the cluster that the cache is of. Throws where it was restored before that was known. */
  home(): void {
    this.#isHome = true;
    for (const decide of this.#undecided.splice(0)) decide();
  }

  /** The connection was lost: what answers next may have another history. */
  doubt(): void {
    // One connection that is lost is told by each of its streams.
    if (this.#waryDoubts > 0 && this.#answered === this.#doubts) {
      this.#waryDoubts--;
      this.#chain = this.#newChain();
    }
    this.#doubts++;
  }

  /**
   * Ends when the server was seen to have all of the present chain, since the last doubt. Rejects where it does not answer,
   * and where it was restored.
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
        // What another one asked may have ended with that one's signal.
        if (isOurs || error instanceof ApiError) throw error;
        if (this.#restored) throw this.#restored;
      }
    }
  }

  /** Rejects once it is known that the server was restored, and ends when the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await Promise.all([untilAborted(this.#noticing.promise, signal), this.#calmDown(signal)]);
  }

  /** Links what others write into the Lease with the chain while this board mirrors the site. Ends when the signal aborts. */
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

  /** A list was taken in. */
  listed(): void {
    this.#lists.ring();
  }

  /**
   * Has lists proven soon: a link that breaks before that costs them once more. `proven`: called when a list that was taken
   * in before is proven. Ends when the signal aborts.
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

  /** What came from a server whose connection never broke is listed once more. */
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
    // A write of ours that went through meanwhile was written upon what we knew.
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

  /** Whether the server has this version in its history. False: it does not say, because it was long ago. */
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

  /** Throws, or does so once the cluster is known to be the same. `isSameLease`: no other cluster has one of this uid. */
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

/** There is none, it may not be read, or the server does not know such a question. */
const isUnanswerable = (error: unknown): boolean =>
  error instanceof ApiError && [400, 403, 404, 405, 422].includes(error.status);

export function witnessOf({ metadata, spec }: Lease): Witness {
  const renewal = typeof spec?.renewTime === "string" ? Date.parse(spec.renewTime) : Number.NaN;
  const { uid, resourceVersion: version } = metadata;
  return { uid, version, renewal: Number.isNaN(renewal) ? undefined : renewal };
}

/** Of the site's Lease. */
export const nameOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

const isSame = (a: Witness | undefined, b: Witness | undefined): boolean =>
  a !== undefined && b !== undefined && a.uid === b.uid && a.version === b.version && a.renewal === b.renewal;
