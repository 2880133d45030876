import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A control loop that waits for its caches before it starts. */
interface Starting {
  readonly since: Instant;
  readonly waitsFor: () => readonly string[];
}

/** Control loops that have not started because they wait for the same caches. */
export interface LateLoops {
  readonly names: readonly string[];
  readonly waitFor: readonly string[];
}

/** A loop that takes longer to start is reported. Usually, its caches are in sync within seconds. */
const tolerated: Millis = 60_000;

/** The control loops of the term that have not started, and what they wait for. */
export class StartingLoops {
  readonly #loops = new Map<string, Starting>();

  /** `waitsFor`: returns the names of the caches, or other things, that the loop still waits for. */
  waits(name: string, waitsFor: Starting["waitsFor"], now: Instant): void {
    this.#loops.set(name, { since: now, waitsFor });
  }

  /** The loop has started, or the term has ended. */
  over(name: string): void {
    this.#loops.delete(name);
  }

  /**
   * The caches, or the claims of other sites, that a loop waits for; empty if it has started or is not part of the
   * term.
   */
  waitsFor(name: string): readonly string[] {
    return this.#loops.get(name)?.waitsFor() ?? [];
  }

  /** The loops that have waited for too long; undefined if there are none. */
  late(now: Instant): { readonly since: Instant; readonly loops: readonly LateLoops[] } | undefined {
    const late = [...this.#loops].filter(([, { since }]) => elapsed(since, now) >= tolerated);
    const [first] = late;
    if (first === undefined) return undefined;
    const groups = new Map<string, { readonly names: string[]; readonly waitFor: readonly string[] }>();
    for (const [name, { waitsFor }] of late) {
      const waitFor = waitsFor();
      const key = waitFor.join();
      const group = groups.get(key) ?? { names: [], waitFor };
      group.names.push(name);
      groups.set(key, group);
    }
    return { since: first[1].since, loops: [...groups.values()] };
  }
}
