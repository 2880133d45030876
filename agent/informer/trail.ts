import { compareVersions } from "../api/resource-version.ts";
import { recordIn } from "../base/json.ts";
import type { ServerHistory, Witness } from "./server-history.ts";

/** Where a watch goes on. `replay`: what it first has to say once more. */
export interface Resumption {
  readonly from: string;
  readonly replay: Replay | undefined;
}

type KnownHistory = Pick<ServerHistory, "known" | "steady" | "chain" | "lease">;

interface Step {
  readonly version: string;
  readonly mark: number;
}

/** Some events in a row, as a sum: `until` is the version of the last one. */
interface Sum {
  readonly until: string;
  readonly count: number;
  readonly sum: number;
}

/** More events than these since the last witness are not compared but listed. */
const mostSteps = 4096;

/**
 * What proves the position of one watch. What came before a witness was written is proven by the witness; what came behind
 * the newest one is proven by receiving the same events again. Between a break of the watch and its resumption no later
 * witness counts: the server may have been restored in between.
 */
export class Trail {
  readonly #history: KnownHistory;
  #chain: string | undefined;
  #witness: Witness | undefined;
  #isLive = false;
  /** What came behind the witness. */
  #steps: Step[] = [];
  /** The same of an earlier run of this board. */
  #earlier: Sum | undefined;
  /** Up to here there was more than the steps show. */
  #gap: string | undefined;

  /** `stored`: what `text` was when the position was stored. */
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

  /** An event came that is new. */
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

  /** Nothing that is stored is proven. */
  forget(): void {
    this.#chain = undefined;
  }

  /** A list is taken in. Only a later witness proves what it brings. */
  listed(version: string): void {
    this.#chain = this.#history.chain;
    this.#witness = this.#history.known;
    this.#steps = [];
    this.#earlier = undefined;
    this.#gap = version;
    this.#isLive = true;
  }

  /** The watch goes on where it was, and what it had to say once more was the same. */
  resumed(): void {
    this.#isLive = true;
  }

  /** The watch says that it is there. */
  heard(): void {
    this.#advance();
  }

  /** The watch broke. What was not stored behind `position` comes again. */
  broke(position: string | undefined): void {
    if (this.#history.steady !== undefined) this.#advance(this.#history.steady);
    this.#isLive = false;
    if (position !== undefined)
      this.#steps = this.#steps.filter(({ version }) => compareVersions(version, position) <= 0);
  }

  /** What is stored is of the present chain. */
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

  /** Undefined: what is stored is not proven, and has to be listed. Asked once the history has no doubt. */
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

  /** To the newest witness of the same chain. */
  #advance(known = this.#history.known): void {
    const { chain } = this.#history;
    if (!this.#isLive || known === undefined || known === this.#witness || chain !== this.#chain) return;
    if (this.#witness !== undefined && compareVersions(known.version, this.#witness.version) < 0) return;
    if (this.#earlier !== undefined) {
      // What a part of them comes to is not known.
      if (compareVersions(known.version, this.#earlier.until) < 0) return;
      this.#earlier = undefined;
    }
    const { version } = known;
    this.#witness = known;
    this.#steps = this.#steps.filter((step) => compareVersions(step.version, version) > 0);
    if (this.#gap !== undefined && compareVersions(this.#gap, version) <= 0) this.#gap = undefined;
  }
}

/** Compares what comes again with what came before. */
export class Replay {
  readonly #wanted: Sum;
  #count = 0;
  #sum = 0;

  constructor(wanted: Sum) {
    this.#wanted = wanted;
  }

  /** An event came. goes on: more of them are to come. done: it was the last one. differs: it is another history. */
  take(version: string, uid: string, isDeletion: boolean): "goes on" | "done" | "differs" {
    const { until, count, sum } = this.#wanted;
    const order = compareVersions(version, until);
    if (order > 0) return "differs";
    this.#count++;
    this.#sum = (this.#sum + markOf(version, uid, isDeletion)) % modulus;
    if (order < 0) return "goes on";
    return this.#count === count && this.#sum === sum ? "done" : "differs";
  }

  /** A bookmark came, behind everything up to its version. */
  reached(version: string): "goes on" | "differs" {
    return compareVersions(version, this.#wanted.until) >= 0 ? "differs" : "goes on";
  }
}

/** The witness that a stored text names, and its chain. Undefined also where it is a Lease of another name than this. */
export function witnessIn(
  text: string | undefined,
  ours: string,
): { readonly witness: Witness; readonly chain: string } | undefined {
  const { chain, lease = ours, uid, version, renewal } = recordIn(text ?? "") ?? {};
  if (typeof chain !== "string" || typeof uid !== "string" || typeof version !== "string" || lease !== ours)
    return undefined;
  return { chain, witness: { uid, version, renewal: typeof renewal === "number" ? renewal : undefined } };
}

/** The newest of them. */
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

/** FNV-1a, twice with different beginnings. */
function markOf(version: string, uid: string, isDeletion: boolean): number {
  const text = `${isDeletion ? "-" : "+"}${uid}@${version}`;
  return fnv(text, 0x811c9dc5) * 2 ** 16 + (fnv(text, 0x9747b28c) & 0xffff);
}

function fnv(text: string, basis: number): number {
  let hash = basis;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
