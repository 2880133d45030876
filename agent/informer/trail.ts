import { compareVersions } from "../api/resource-version.ts";
import { recordIn } from "../base/json.ts";
import type { LeaseVersion, ServerHistory } from "./server-history.ts";

/** Where a watch resumes, and how it is verified that the server still has the history of the stored objects. */
export interface Resumption {
  /** The resourceVersion at which the watch begins: the stored position, or that of an earlier version of the Lease. */
  readonly from: string;
  /** Compares the events that the watch must deliver again first; undefined if there are none. */
  readonly replay: Replay | undefined;
}

type KnownHistory = Pick<ServerHistory, "known" | "knownDuring" | "losses" | "isLossAnswered" | "chain" | "lease">;

/** An event received after the Lease version that proves the events before it. */
interface Step {
  /** The event's resourceVersion. */
  readonly version: string;
  /** A checksum of the event. */
  readonly mark: number;
}

/** Checksum of consecutive events. */
interface Sum {
  /** The resourceVersion of the last event. */
  readonly until: string;
  readonly count: number;
  readonly sum: number;
}

/**
 * If more events than this arrived since the last Lease version, they are not compared, and a list replaces the stored
 * objects.
 */
const maxSteps = 4096;

/**
 * Proves the position of one watch. A version of the site's Lease proves the events received before it was
 * written. Events after the newest Lease version are proven by receiving them again. While the watch is interrupted,
 * newer Lease versions prove nothing, because the server may have been restored in the meantime.
 *
 * A watch may be interrupted without a sign: its connection is dead, while requests already use another one. So once any
 * connection was lost since the watch was opened, a newer Lease version proves its events only when the watch
 * has delivered something that is newer still.
 */
export class Trail {
  readonly #history: KnownHistory;
  /**
   * The chain (see ServerHistory) that the stored objects belong to; undefined if no Lease version proves that they do.
   */
  #chain: string | undefined;
  /** The newest Lease version of the stored objects. */
  #leaseVersion: LeaseVersion | undefined;
  /** False while the watch is interrupted. */
  #isLive = false;
  /** The number of losses of a connection after which the watch was certainly connected. */
  #losses = 0;
  /** The events after the Lease version, received in this run. */
  #steps: Step[] = [];
  /** The events after the Lease version, received in an earlier run; dropped as soon as a new event arrives. */
  #earlier: Sum | undefined;
  /**
   * A resourceVersion up to which at least one event is missing from the steps, so that only a later Lease version
   * proves the position.
   */
  #gap: string | undefined;

  /** `stored`: the `text` that was stored with the position; undefined if there was none. */
  constructor(history: KnownHistory, stored: string | undefined) {
    this.#history = history;
    const found = leaseVersionIn(stored, history.lease);
    this.#leaseVersion = found?.leaseVersion;
    const { chain, gap, until, count, sum } = recordIn(stored ?? "") ?? {};
    if (typeof chain === "string" && found !== undefined) this.#chain = chain;
    if (typeof gap === "string") this.#gap = gap;
    if (typeof until === "string" && typeof count === "number" && typeof sum === "number")
      this.#earlier = { until, count, sum };
  }

  /** A new event arrived. */
  add(version: string, uid: string, isDeletion: boolean): void {
    this.#delivered(version);
    if (this.#leaseVersion !== undefined && compareVersions(version, this.#leaseVersion.version) <= 0) return;
    if (this.#earlier !== undefined) {
      this.#gap = this.#earlier.until;
      this.#earlier = undefined;
    }
    if (this.#steps.length === maxSteps) this.#gap = this.#steps.shift()?.version;
    this.#steps.push({ version, mark: markOf(version, uid, isDeletion) });
  }

  /** The stored objects are no longer proven. */
  forget(): void {
    this.#chain = undefined;
  }

  /** A list at this resourceVersion is being stored. Only a later Lease version proves it. */
  listed(version: string): void {
    this.#chain = this.#history.chain;
    this.#leaseVersion = this.#history.known;
    this.#steps = [];
    this.#earlier = undefined;
    this.#gap = version;
    this.#losses = this.#history.losses;
    this.#isLive = true;
  }

  /** The watch is open again, and its replayed events matched. */
  resumed(): void {
    this.#isLive = true;
  }

  /** A bookmark arrived. */
  bookmarked(version: string): void {
    this.#delivered(version);
  }

  /** The watch was interrupted. Events after `position` were not stored and will be delivered again. */
  broke(position: string | undefined): void {
    this.#advance();
    this.#isLive = false;
    if (position !== undefined)
      this.#steps = this.#steps.filter(({ version }) => compareVersions(version, position) <= 0);
  }

  /** Whether the stored objects belong to the current chain. */
  get isOfChain(): boolean {
    return this.#chain === this.#history.chain;
  }

  /** Whether the Lease version alone, without a replay, proves `position`. */
  proves(position: string): boolean {
    this.#advance();
    return this.#leaseVersion !== undefined && compareVersions(position, this.#leaseVersion.version) <= 0;
  }

  /** The state of this trail, to be stored with the position. */
  text(): string {
    this.#advance();
    const { uid, version, renewal } = this.#leaseVersion ?? {};
    return JSON.stringify({
      chain: this.#chain,
      lease: this.#history.lease,
      uid,
      version,
      renewal,
      gap: this.#gap,
      ...this.#sum(),
    });
  }

  /**
   * Where the watch resumes; undefined if the stored objects are not proven and must be replaced with a list. Call only
   * while the history has no unanswered doubt.
   */
  resume(position: string): Resumption | undefined {
    this.#losses = this.#history.losses;
    const proving = this.#leaseVersion?.version;
    if (proving === undefined || !this.isOfChain) return undefined;
    if (compareVersions(position, proving) <= 0) return { from: position, replay: undefined };
    if (this.#gap !== undefined && compareVersions(this.#gap, proving) > 0) return undefined;
    const sum = this.#sum();
    return { from: proving, replay: sum && new Replay(sum) };
  }

  #sum(): Sum | undefined {
    const last = this.#steps.at(-1);
    if (last === undefined) return this.#earlier;
    const sum = this.#steps.reduce((all, { mark }) => (all + mark) % modulus, 0);
    return { until: last.version, count: this.#steps.length, sum };
  }

  /** The watch has delivered everything up to this resourceVersion, which shows that it is still connected. */
  #delivered(version: string): void {
    this.#advance();
    const { known, losses, isLossAnswered } = this.#history;
    if (losses === this.#losses || !isLossAnswered || known === undefined) return;
    if (compareVersions(version, known.version) < 0) return;
    this.#losses = losses;
    this.#advance(known);
  }

  /**
   * Takes the newest Lease version that proves the events of this watch, if it belongs to the same chain, and drops the
   * steps that it proves.
   */
  #advance(known = this.#history.knownDuring(this.#losses)): void {
    const { chain } = this.#history;
    if (!this.#isLive || known === undefined || known === this.#leaseVersion || chain !== this.#chain) return;
    if (this.#leaseVersion !== undefined && compareVersions(known.version, this.#leaseVersion.version) < 0) return;
    if (this.#earlier !== undefined) {
      // For the events of an earlier run, only a combined checksum is known, so the Lease version must prove all of
      // them or none.
      if (compareVersions(known.version, this.#earlier.until) < 0) return;
      this.#earlier = undefined;
    }
    const { version } = known;
    this.#leaseVersion = known;
    this.#steps = this.#steps.filter((step) => compareVersions(step.version, version) > 0);
    if (this.#gap !== undefined && compareVersions(this.#gap, version) <= 0) this.#gap = undefined;
  }
}

/** Compares replayed events with those received before, by their checksum. */
export class Replay {
  readonly #wanted: Sum;
  #count = 0;
  #sum = 0;

  constructor(wanted: Sum) {
    this.#wanted = wanted;
  }

  /** Adds an event. goes on: more must follow. done: this was the last one. differs: the server has another history. */
  add(version: string, uid: string, isDeletion: boolean): "goes on" | "done" | "differs" {
    const { until, count, sum } = this.#wanted;
    const order = compareVersions(version, until);
    if (order > 0) return "differs";
    this.#count++;
    this.#sum = (this.#sum + markOf(version, uid, isDeletion)) % modulus;
    if (order < 0) return "goes on";
    return this.#count === count && this.#sum === sum ? "done" : "differs";
  }

  /** A bookmark arrived, so the server has sent all events up to its version. */
  reached(version: string): "goes on" | "differs" {
    return compareVersions(version, this.#wanted.until) >= 0 ? "differs" : "goes on";
  }
}

/** The Lease version in a stored string, and its chain; undefined if it has none for the Lease `ours`. */
export function leaseVersionIn(
  text: string | undefined,
  ours: string,
): { readonly leaseVersion: LeaseVersion; readonly chain: string } | undefined {
  const { chain, lease = ours, uid, version, renewal } = recordIn(text ?? "") ?? {};
  if (typeof chain !== "string" || typeof uid !== "string" || typeof version !== "string" || lease !== ours)
    return undefined;
  return { chain, leaseVersion: { uid, version, renewal: typeof renewal === "number" ? renewal : undefined } };
}

/** The newest of the Lease versions in these strings. */
export function newestLeaseVersion(texts: readonly string[], ours: string): ReturnType<typeof leaseVersionIn> {
  return texts
    .flatMap((text) => leaseVersionIn(text, ours) ?? [])
    .reduce<ReturnType<typeof leaseVersionIn>>(
      (newest, one) =>
        newest === undefined || compareVersions(one.leaseVersion.version, newest.leaseVersion.version) > 0
          ? one
          : newest,
      undefined,
    );
}

const modulus = 2 ** 48;

/** A 48-bit checksum of an event: FNV-1a twice, with different offset bases. */
function markOf(version: string, uid: string, isDeletion: boolean): number {
  const text = `${isDeletion ? "-" : "+"}${uid}@${version}`;
  return fnv(text, 0x811c9dc5) * 2 ** 16 + (fnv(text, 0x9747b28c) & 0xffff);
}

function fnv(text: string, basis: number): number {
  let hash = basis;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
