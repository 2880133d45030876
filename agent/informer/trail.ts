import { compareVersions } from "../api/resource-version.ts";
import { recordIn } from "../base/json.ts";
import type { ServerHistory, Witness } from "./server-history.ts";

/** Where a watch resumes. `replay`: the events that it must deliver again first. */
export interface Resumption {
  readonly from: string;
  readonly replay: Replay | undefined;
}

type KnownHistory = Pick<ServerHistory, "known" | "steady" | "chain" | "lease">;

interface Step {
  readonly version: string;
  readonly mark: number;
}

/** Checksum of consecutive events: `until` is the version of the last one. */
interface Sum {
  readonly until: string;
  readonly count: number;
  readonly sum: number;
}

/** With more events than this since the last witness, they are listed instead of compared. */
const mostSteps = 4096;

/**
 * Proves the position of one watch. A witness proves the events received before it was written; events after the newest
 * witness are proven by receiving them again. Between a break of the watch and its resumption no later witness counts:
 * the server may have been restored in between.
 */
export class Trail {
  readonly #history: KnownHistory;
  #chain: string | undefined;
  #witness: Witness | undefined;
  #isLive = false;
  /** The events after the witness. */
  #steps: Step[] = [];
  /** The same from an earlier run of this board. */
  #earlier: Sum | undefined;
  /** The steps do not include all events up to this version. */
  #gap: string | undefined;

  /** `stored`: the `text` that was stored with the position. */
  constructor(history: KnownHistory, stored: string | undefined) {
    this.#history = history;
    const found = witnessIn(stored, history.lease);
    this.#witness = found?.witness;
    const { chain, gap, until, count, sum } = recordIn(stored ?? "") ?? {};
    if (typeof chain === "string" && found !== undefined) this.#chain = chain;
    if (typeof gap === "string") this.#gap = gap;
    if (typeof until === "string" && typeof count === "number" && typeof sum === "number")
      this.#earlier = { until, count, sum };
  }

  /** A new event arrived. */
  add(version: string, uid: string, isDeletion: boolean): void {
    this.#advance();
    if (this.#witness !== undefined && compareVersions(version, this.#witness.version) <= 0) return;
    if (this.#earlier !== undefined) {
      this.#gap = this.#earlier.until;
      this.#earlier = undefined;
    }
    if (this.#steps.length === mostSteps) this.#gap = this.#steps.shift()?.version;
    this.#steps.push({ version, mark: markOf(version, uid, isDeletion) });
  }

  /** Nothing stored is proven. */
  forget(): void {
    this.#chain = undefined;
  }

  /** A list is being stored. Only a later witness proves its content. */
  listed(version: string): void {
    this.#chain = this.#history.chain;
    this.#witness = this.#history.known;
    this.#steps = [];
    this.#earlier = undefined;
    this.#gap = version;
    this.#isLive = true;
  }

  /** The watch resumed where it was, and its replayed events matched. */
  resumed(): void {
    this.#isLive = true;
  }

  /** The watch showed that it is alive. */
  heard(): void {
    this.#advance();
  }

  /** The watch broke. Events after `position` were not stored and will be delivered again. */
  broke(position: string | undefined): void {
    if (this.#history.steady !== undefined) this.#advance(this.#history.steady);
    this.#isLive = false;
    if (position !== undefined)
      this.#steps = this.#steps.filter(({ version }) => compareVersions(version, position) <= 0);
  }

  /** The stored objects belong to the current chain. */
  get isOfChain(): boolean {
    return this.#chain === this.#history.chain;
  }

  /** Whether the witness alone proves `position`. */
  proves(position: string): boolean {
    this.#advance();
    return this.#witness !== undefined && compareVersions(position, this.#witness.version) <= 0;
  }

  /** For the store, beside the position. */
  text(): string {
    this.#advance();
    const { uid, version, renewal } = this.#witness ?? {};
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

  /** Undefined if the stored state is not proven and has to be listed. Called once the history has no open doubt. */
  resume(position: string): Resumption | undefined {
    const witness = this.#witness?.version;
    if (witness === undefined || !this.isOfChain) return undefined;
    if (compareVersions(position, witness) <= 0) return { from: position, replay: undefined };
    if (this.#gap !== undefined && compareVersions(this.#gap, witness) > 0) return undefined;
    const sum = this.#sum();
    return { from: witness, replay: sum && new Replay(sum) };
  }

  #sum(): Sum | undefined {
    const last = this.#steps.at(-1);
    if (last === undefined) return this.#earlier;
    const sum = this.#steps.reduce((all, { mark }) => (all + mark) % modulus, 0);
    return { until: last.version, count: this.#steps.length, sum };
  }

  /** Moves to the newest witness of the same chain. */
  #advance(known = this.#history.known): void {
    const { chain } = this.#history;
    if (!this.#isLive || known === undefined || known === this.#witness || chain !== this.#chain) return;
    if (this.#witness !== undefined && compareVersions(known.version, this.#witness.version) < 0) return;
    if (this.#earlier !== undefined) {
      // The checksum cannot be split.
      if (compareVersions(known.version, this.#earlier.until) < 0) return;
      this.#earlier = undefined;
    }
    const { version } = known;
    this.#witness = known;
    this.#steps = this.#steps.filter((step) => compareVersions(step.version, version) > 0);
    if (this.#gap !== undefined && compareVersions(this.#gap, version) <= 0) this.#gap = undefined;
  }
}

/** Compares replayed events with the earlier ones. */
export class Replay {
  readonly #wanted: Sum;
  #count = 0;
  #sum = 0;

  constructor(wanted: Sum) {
    this.#wanted = wanted;
  }

  /** Adds an event. goes on: more are to come. done: it was the last one. differs: it is another history. */
  take(version: string, uid: string, isDeletion: boolean): "goes on" | "done" | "differs" {
    const { until, count, sum } = this.#wanted;
    const order = compareVersions(version, until);
    if (order > 0) return "differs";
    this.#count++;
    this.#sum = (this.#sum + markOf(version, uid, isDeletion)) % modulus;
    if (order < 0) return "goes on";
    return this.#count === count && this.#sum === sum ? "done" : "differs";
  }

  /** A bookmark arrived, after everything up to its version. */
  reached(version: string): "goes on" | "differs" {
    return compareVersions(version, this.#wanted.until) >= 0 ? "differs" : "goes on";
  }
}

/** The witness in a stored text, and its chain. Undefined also if it is a Lease of another name. */
export function witnessIn(
  text: string | undefined,
  ours: string,
): { readonly witness: Witness; readonly chain: string } | undefined {
  const { chain, lease = ours, uid, version, renewal } = recordIn(text ?? "") ?? {};
  if (typeof chain !== "string" || typeof uid !== "string" || typeof version !== "string" || lease !== ours)
    return undefined;
  return { chain, witness: { uid, version, renewal: typeof renewal === "number" ? renewal : undefined } };
}

/** The newest witness of these texts. */
export function newestWitness(texts: readonly string[], ours: string): ReturnType<typeof witnessIn> {
  return texts
    .flatMap((text) => witnessIn(text, ours) ?? [])
    .reduce<ReturnType<typeof witnessIn>>(
      (newest, one) =>
        newest === undefined || compareVersions(one.witness.version, newest.witness.version) > 0 ? one : newest,
      undefined,
    );
}

const modulus = 2 ** 48;

/** FNV-1a, twice with different offset bases. */
function markOf(version: string, uid: string, isDeletion: boolean): number {
  const text = `${isDeletion ? "-" : "+"}${uid}@${version}`;
  return fnv(text, 0x811c9dc5) * 2 ** 16 + (fnv(text, 0x9747b28c) & 0xffff);
}

function fnv(text: string, basis: number): number {
  let hash = basis;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
