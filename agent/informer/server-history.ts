import type { Lease } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { compareVersions } from "../api/resource-version.ts";
import { leases } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import type { HasDisposition } from "../base/errors.ts";
import { ApiError, isGone } from "../client/api-error.ts";
import type { HttpRequest } from "../client/transport/transport.ts";
import type { InformerClient } from "./informer-client.ts";
import { OwnRenewals } from "./own-renewals.ts";
import { untilAborted } from "./until-aborted.ts";

/** Identifies one state of the site's Lease (a "version"), so that a later read can recognise it. */
export interface LeaseVersion {
  readonly uid: string;
  /** The resourceVersion of that state. */
  readonly version: string;
  /**
   * The renewTime as milliseconds since 1970; undefined if there is no valid one. Two histories may use the
   * same resourceVersion, but not for the same renewal.
   */
  readonly renewal: number | undefined;
}

/** The hint for the operator after a restore. */
export const afterRestore =
  "No action is needed on this board. After a restore, restart every API server, and use etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted so that all clients notice it.";

/** The API server's store was restored to an earlier state, so nothing in the cache can be relied on. */
export class ServerRestoredError extends Error implements HasDisposition {
  override readonly name = "ServerRestoredError";
  readonly disposition = "rebuild";
  readonly hint = afterRestore;
}

/** Writes a new version of the site's Lease. Rejects if this board does not lead. */
export type RenewLease = () => Promise<void>;

export interface ServerHistoryDeps {
  readonly client: Pick<InformerClient, "get" | "list">;
  /** Called with the Lease as read here, outside of the election. */
  readonly read: (lease: Lease) => void;
  /** Where the site's Lease is. */
  readonly at: { readonly namespace: string; readonly name: string };
  /**
   * The newest Lease version in the stored cache, and the chain that it belongs to; undefined if the cache has no
   * Lease version.
   */
  readonly known: { readonly leaseVersion: LeaseVersion; readonly chain: string } | undefined;
  /** Called once, before the error is thrown. */
  readonly restored: (error: ServerRestoredError) => void;
  /**
   * Called if the site's Lease is gone or is another one, and the server does not show that it was only deleted: a
   * backup may have been restored that is older than the Lease, with versions above all that were ever read.
   */
  readonly replaced: () => void;
  /**
   * Whether a restore was noticed recently. An API server that has not been restarted since may still serve its watch
   * cache from before the restore.
   */
  readonly wasRestored: boolean;
  /** Called when the restore happened long enough ago to be forgotten. */
  readonly restoreForgotten: () => void;
}

const pauseAfterFailure: Millis = 10_000;
/**
 * The wait after a list was stored, because other lists usually follow immediately, and one new version of the Lease
 * proves them all.
 */
const pauseAfterList: Millis = 500;
/** How long a restore is remembered. After this time every API server should have been restarted. */
const restoreMemory: Millis = 3_600_000;
/**
 * Maximum number of lost connections that cause lists while a restore is remembered; without a limit, an agent with an
 * unstable link would do nothing but list.
 */
const maxListingDoubts = 8;
/** For so many losses of a connection, the newest version known before the next one is kept. */
const maxKnownDuring = 16;

/**
 * Checks whether the API server's store still has the history from which the cache was filled. A watch position cannot
 * show this: a store restored from a backup accepts the position as soon as its own revision has passed it.
 *
 * The site's Lease is the proof. It is renewed every few seconds, it is read from the store, never from a watch
 * cache, and each version is recognisable by its renewTime. etcd orders all writes, so a server that has a known
 * version of the Lease also has everything written before it. Versions of the Lease are compared only with each other,
 * because events and other kinds may live in another store.
 *
 * A chain is a sequence of versions known to belong to one history: this board wrote each on top of the previous one,
 * or the server was shown to have both. If neither holds and a restore is not proven, a new chain begins, and
 * everything cached in the old one is listed again.
 *
 * A doubt is a moment after which the server may have another history: the start, a lost connection, or a version of
 * the Lease that is not linked to the chain. A proof answers all earlier doubts.
 *
 * The Lease proves nothing about an API server's watch cache, because a server that was not restarted with its store
 * continues to serve the old history under versions of the current one. Therefore, while a restore is remembered, each
 * lost connection also begins a new chain, because the next server may be the first that was restarted.
 */
export class ServerHistory {
  readonly #ambient: Ambient;
  readonly #deps: ServerHistoryDeps;
  readonly #bell: WakeSignal;
  readonly #lists: WakeSignal;
  /** This board's writes of the Lease in the current chain. */
  readonly renewals = new OwnRenewals();
  /** Rejects when a restore is found. */
  readonly #restoreFound = Promise.withResolvers<never>();
  /** The newest version of the current chain; undefined before the first. */
  #known: LeaseVersion | undefined;
  #chain: string;
  /** The newest version seen, even if it is not linked to the chain. */
  #latest: LeaseVersion | undefined;
  /** Number of doubts so far; the start of the process is the first. */
  #doubts = 1;
  /** Number of answered doubts. */
  #answered = 0;
  /** How many times a connection was lost, and the number of doubts right after the last loss. */
  #losses = 0;
  #doubtsAtLoss = 0;
  /** The newest version that was requested after so many losses and before the next one; of the last losses. */
  #knownDuring: readonly { readonly losses: number; readonly version: LeaseVersion }[] = [];
  #mayBeFormer: boolean;
  /** How many more lost connections begin a new chain while a restore is remembered. */
  #listingDoubts: number;
  /** The running check of the server, shared by all callers of `prove`. */
  #asking: Promise<void> | undefined;
  #restored: ServerRestoredError | undefined;
  #isClusterConfirmed = false;
  /** Aborts when the chain is abandoned although no connection was lost. */
  #abandonment = new AbortController();
  /**
   * Restores suggested by a Lease with another uid. They are reported once the cluster is confirmed, because a Lease
   * with the same name in another cluster does not prove a restore.
   */
  readonly #undecided: (() => void)[] = [];

  constructor(ambient: Ambient, deps: ServerHistoryDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#bell = new WakeSignal(ambient.clock);
    this.#lists = new WakeSignal(ambient.clock);
    this.#known = this.#latest = deps.known?.leaseVersion;
    this.#chain = deps.wasRestored ? this.#newChain() : (deps.known?.chain ?? this.#newChain());
    this.#mayBeFormer = deps.wasRestored;
    this.#listingDoubts = deps.wasRestored ? maxListingDoubts : 0;
    this.#restoreFound.promise.catch(() => {});
  }

  /**
   * The newest version of the chain. It proves all events that a watch received before it, if that watch has stayed
   * connected since.
   */
  get known(): LeaseVersion | undefined {
    return this.#known;
  }

  /** How many times a connection was lost so far. */
  get losses(): number {
    return this.#losses;
  }

  /**
   * The newest version that was requested after so many losses and before the next one; undefined if there is none, or
   * if that is too long ago. It proves the events of a watch that was opened after as many losses, even if that watch
   * is on a connection that broke with a later one unnoticed.
   */
  knownDuring(losses: number): LeaseVersion | undefined {
    return this.#knownDuring.find((one) => one.losses === losses)?.version;
  }

  /** Whether the server was shown to have the chain since the last loss. */
  get isLossAnswered(): boolean {
    return this.#answered >= this.#doubtsAtLoss;
  }

  /** Namespace and name of the site's Lease. Proofs by the Lease of another site are ignored. */
  get lease(): string {
    return keyOf({ metadata: this.#deps.at });
  }

  /** A random name of the current chain. */
  get chain(): string {
    return this.#chain;
  }

  /**
   * Whether lists and watches may show a history that a restore has undone, which is the case while a restore is
   * remembered.
   */
  get mayBeFormer(): boolean {
    return this.#mayBeFormer;
  }

  /**
   * Aborts when the chain is abandoned because requests now reach a server without its history. Open streams may still
   * come from the previous server, because when a connection is replaced, its streams are left to end by themselves.
   */
  get abandoned(): AbortSignal {
    return this.#abandonment.signal;
  }

  /**
   * Takes note of the Lease as just read. Reads and writes must be reported in the order in which they happened. Throws
   * if it proves a restore.
   */
  observe(found: LeaseVersion): void {
    this.#compare(found, this.#latest);
    this.#latest = found;
    if (!isSame(found, this.#known)) this.#unlinked();
  }

  /** The number of doubts so far. A successful write answers those that existed when it was sent. */
  get doubts(): number {
    return this.#doubts;
  }

  /**
   * Records the Lease that this board has just written. The write was based on version `from`, which the server
   * therefore had; `from` is undefined if the Lease was created. `doubts`: the number of doubts when the write was
   * sent; `sentAt`: when that was. Throws if the version proves a restore.
   */
  recordOwnWrite(from: string | undefined, written: LeaseVersion, doubts: number, sentAt: Instant): void {
    const before = this.#latest;
    this.#compare(written, before);
    this.#latest = written;
    if (this.#known === undefined || this.#known.version !== from) this.#unlinked();
    else {
      this.#answered = Math.max(this.#answered, doubts);
      this.#learn(written, doubts);
      this.renewals.add({ version: written.version, sentAt, answeredAt: this.#ambient.clock.now() });
    }
  }

  /** The server was confirmed to belong to the cluster of the cache. Throws if a restore was suggested before. */
  confirmCluster(): void {
    this.#isClusterConfirmed = true;
    for (const decide of this.#undecided.splice(0)) decide();
  }

  /** The connection was lost, so the server that responds next may have another history. */
  doubt(): void {
    // Each stream of a lost connection calls this; only the first call counts as a loss.
    if (this.#listingDoubts > 0 && this.#answered === this.#doubts) {
      this.#listingDoubts--;
      this.#chain = this.#newChain();
    }
    this.#doubts++;
    this.#losses++;
    this.#doubtsAtLoss = this.#doubts;
  }

  /**
   * Answers all doubts: checks whether the server has the current chain, and begins a new one if it does not. Rejects
   * if the server does not respond or was restored.
   */
  async prove(signal: AbortSignal): Promise<void> {
    while (this.#answered < this.#doubts) {
      signal.throwIfAborted();
      const isOurs = this.#asking === undefined;
      this.#asking ??= this.#ask(signal).finally(() => {
        this.#asking = undefined;
      });
      try {
        await this.#asking;
      } catch (error) {
        // A check begun by another caller may have ended with that caller's signal.
        if (isOurs || error instanceof ApiError) throw error;
        if (this.#restored) throw this.#restored;
      }
    }
  }

  /** Delays writes until the history is proven, because the server may have been restored. Reads need no proof. */
  async beforeRequest({ method, signal }: HttpRequest): Promise<void> {
    if (method !== "GET") await this.prove(signal);
  }

  /** Rejects once the server is known to be restored; ends when the signal aborts. */
  async untilRestored(signal: AbortSignal): Promise<void> {
    await Promise.all([untilAborted(this.#restoreFound.promise, signal), this.#forgetRestoreLater(signal)]);
  }

  /**
   * While this board mirrors the site, extends the chain with versions of the Lease that other boards wrote, until the
   * signal aborts.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    while (!signal.aborted) {
      await this.#bell.wait(signal);
      if (signal.aborted) return;
      try {
        await this.prove(signal);
      } catch (error) {
        if (error instanceof ServerRestoredError) throw error;
        log.debug("not known yet whether the API server still has the history from which the cache was filled", {
          error,
        });
        await sleep(clock, pauseAfterFailure, signal);
        this.#bell.ring();
      }
    }
  }

  /** Called when a list has been stored, which no known Lease version proves yet. */
  listed(): void {
    this.#lists.ring();
  }

  /**
   * Proves stored lists soon, because they must be repeated if the link breaks before that. `renew` writes a new
   * version of the Lease, because earlier versions do not prove a later list; `proven` is called after that. Ends when
   * the signal aborts.
   */
  async proveLists(
    signal: AbortSignal,
    { renew, proven }: { readonly renew: RenewLease; readonly proven: () => void },
  ): Promise<void> {
    const { clock } = this.#ambient;
    while (!signal.aborted) {
      await this.#lists.wait(signal);
      await sleep(clock, pauseAfterList, signal);
      if (signal.aborted) return;
      try {
        await renew();
        proven();
      } catch {
        // This board does not lead, so the leader's next renewal proves the lists.
      }
    }
  }

  /**
   * Forgets a restore after some time. Then begins a new chain, so that data received over a connection that never
   * broke is listed once more.
   */
  async #forgetRestoreLater(signal: AbortSignal): Promise<void> {
    if (!this.#deps.wasRestored) return;
    await sleep(this.#ambient.clock, restoreMemory, signal);
    if (signal.aborted) return;
    this.#listingDoubts = 0;
    this.#mayBeFormer = false;
    this.#chain = this.#newChain();
    this.#deps.restoreForgotten();
  }

  /** Called when a version of the Lease is not linked to the chain yet. */
  #unlinked(): void {
    this.#doubts++;
    this.#bell.ring();
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const doubts = this.#doubts;
    const [known, latest] = [this.#known, this.#latest];
    const found = await this.#read(signal);
    if (found !== undefined) this.#compare(found, latest);
    const link = known && found && (isSame(found, known) ? "linked" : await this.#linkOf(known, found, signal));
    this.#answered = Math.max(this.#answered, doubts);
    // True if this board wrote the Lease in the meantime: that version is linked to `known` and newer than `found`.
    const isNewer = this.#known !== undefined && this.#known !== known;
    if (found && link === "linked") {
      if (!isNewer) this.#learn(found, doubts);
      return;
    }
    if (known !== undefined) {
      this.#ambient.log.info(
        "the API server may have lost the history from which the cache was filled: everything is listed again before the cache is used",
      );
      this.#chain = this.#newChain();
      if (link === "forgotten") this.#abandonStreams();
      if (found?.uid !== known.uid) this.#deps.replaced();
    }
    if (known === undefined && isNewer) return;
    this.#knownDuring = [];
    if (found === undefined) this.#known = undefined;
    else this.#learn(found, doubts);
  }

  /** Takes a version of the chain as the newest. `doubts`: their number when it was requested. */
  #learn(version: LeaseVersion, doubts: number): void {
    this.#known = version;
    if (doubts < this.#doubtsAtLoss) return;
    const others = this.#knownDuring.filter(({ losses }) => losses !== this.#losses);
    this.#knownDuring = [...others, { losses: this.#losses, version }].slice(-maxKnownDuring);
  }

  async #read(signal: AbortSignal): Promise<LeaseVersion | undefined> {
    const { client, at, read } = this.#deps;
    try {
      const lease = await client.get(leases, at, signal);
      read(lease);
      return leaseVersionOf(lease);
    } catch (error) {
      if (isUnanswerable(error)) return undefined;
      throw error;
    }
  }

  #abandonStreams(): void {
    this.#abandonment.abort();
    this.#abandonment = new AbortController();
  }

  /**
   * Whether the server has the version `known` in its history. forgotten: it has another version, or its history no
   * longer reaches back that far. unknown: the server cannot tell, and repeating the request would not help.
   */
  async #linkOf(
    known: LeaseVersion,
    now: LeaseVersion,
    signal: AbortSignal,
  ): Promise<"linked" | "forgotten" | "unknown"> {
    const { client, at } = this.#deps;
    const found: LeaseVersion[] = [];
    const exact = { resourceVersion: known.version, resourceVersionMatch: "Exact" } as const;
    const options = { namespace: at.namespace, fieldSelector: `metadata.name=${at.name}`, ...exact };
    try {
      await client.list(leases, options, (lease) => found.push(leaseVersionOf(lease)), signal);
    } catch (error) {
      if (isGone(error)) return "forgotten";
      if (isUnanswerable(error)) return "unknown";
      throw error;
    }
    const [then] = found;
    if (isSame(then, known)) return "linked";
    const how = `at version ${known.version} the store has ${then ? "another version of the site's Lease" : "no such Lease"}`;
    this.#suspectRestore(how, now.uid === known.uid);
    return "forgotten";
  }

  #compare(found: LeaseVersion, before: LeaseVersion | undefined): void {
    if (before === undefined) return;
    const order = compareVersions(found.version, before.version);
    if (order > 0 || isSame(found, before)) return;
    const how =
      order < 0
        ? `the site's Lease went back from version ${before.version} to ${found.version}`
        : `version ${found.version} of the site's Lease differs from the one read earlier with the same version`;
    this.#suspectRestore(how, found.uid === before.uid);
  }

  /**
   * Throws a ServerRestoredError: immediately if the Lease has the same uid, which is unique among clusters; otherwise,
   * once the cluster is confirmed.
   */
  #suspectRestore(how: string, isSameLease: boolean): void {
    if (isSameLease || this.#isClusterConfirmed) throw this.#restoredError(how);
    this.#undecided.push(() => {
      throw this.#restoredError(how);
    });
  }

  #restoredError(how: string): ServerRestoredError {
    if (this.#restored === undefined) {
      this.#restored = new ServerRestoredError(`the API server's store went back to an earlier state: ${how}`);
      this.#deps.restored(this.#restored);
      this.#restoreFound.reject(this.#restored);
    }
    return this.#restored;
  }

  #newChain(): string {
    this.renewals.clear();
    return Math.floor(this.#ambient.random.next() * 2 ** 40).toString(36);
  }
}

/**
 * The Lease is missing, reading it is forbidden, or the server does not support the request, so a retry would not help.
 */
const isUnanswerable = (error: unknown): boolean =>
  error instanceof ApiError && [400, 403, 404, 405, 422].includes(error.status);

export function leaseVersionOf({ metadata, spec }: Lease): LeaseVersion {
  const renewal = typeof spec?.renewTime === "string" ? Date.parse(spec.renewTime) : Number.NaN;
  const { uid, resourceVersion: version } = metadata;
  return { uid, version, renewal: Number.isNaN(renewal) ? undefined : renewal };
}

const isSame = (a: LeaseVersion | undefined, b: LeaseVersion | undefined): boolean =>
  a !== undefined && b !== undefined && a.uid === b.uid && a.version === b.version && a.renewal === b.renewal;
