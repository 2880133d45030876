import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";

export interface MemoryLimits {
  /** Beyond it the agent gives back what it can. */
  readonly soft: number;
  /** Beyond it the agent starts anew. */
  readonly hard: number;
}

/**
 * tidy: give back what a calm process grew by. relieve: give back what can be read or made again. restart: only a new process
 * is small.
 */
export type MemoryStep = "fine" | "tidy" | "relieve" | "restart" | "in vain";

/** What the step rests on. */
export interface MemoryView {
  readonly rss: number;
  readonly startedAt: Instant;
  readonly relievedAt: Instant | undefined;
  /** By how much a process that has little to do grew since it was last tidied; undefined: it has work to do. */
  readonly grown: number | undefined;
}

/** What was given back is needed again soon: it is not taken away at every look. */
const reliefEvery: Millis = 300_000;

/**
 * Both halves of V8's young generation stay in memory once they were full, 1 MB each, however little is in use. A board that
 * follows fills them in half a minute, and needs 25 ms to give them back: 1.2 MB for a thousandth of a core.
 */
const worthTidying = 512 * 1024;

/** A process that is too large so soon after its start would be so again: the limit is wrong, or the site too large for it. */
const worthRestart: Millis = 900_000;

/** What to do about a process of this size. */
export function memoryStep(view: MemoryView, limits: MemoryLimits, now: Instant): MemoryStep {
  const { rss, startedAt, relievedAt, grown } = view;
  if (rss <= limits.soft) return grown !== undefined && grown >= worthTidying ? "tidy" : "fine";
  if (relievedAt === undefined || elapsed(relievedAt, now) >= reliefEvery) return "relieve";
  if (rss <= limits.hard) return "fine";
  return elapsed(startedAt, now) >= worthRestart ? "restart" : "in vain";
}

export interface MemoryGuardParts {
  readonly limits: () => MemoryLimits;
  readonly startedAt: Instant;
  /** The process' resident memory; undefined: the system does not tell. */
  readonly rss: () => number | undefined;
  /** The process has little to do: another board leads. */
  readonly isCalm: () => boolean;
  /** Has collected what nobody needs any more. */
  readonly tidy: () => void;
  /** Drops what can be read or made again. */
  readonly shed: () => void;
  /** Asks the process to end in good order, and to be started anew. */
  readonly restart: (why: string) => void;
}

const sampleEvery: Millis = 15_000;

/**
 * Looks at the process' own memory, because on many boards nobody else does: Raspberry Pi kernels leave the memory cgroup
 * off (docs/interfaces.md#systemd).
 */
export class MemoryGuard {
  readonly #ambient: Ambient;
  readonly #parts: MemoryGuardParts;
  #relievedAt: Instant | undefined;
  /** Its size when it was last tidied, where it has been calm since. */
  #tidied: number | undefined;
  /** Larger than the hard limit, and a restart would not help. */
  #inVain = false;

  constructor(ambient: Ambient, parts: MemoryGuardParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  get isInVain(): boolean {
    return this.#inVain;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#ambient.clock, sampleEvery, signal);
      if (!signal.aborted) this.#sample();
    }
  }

  #sample(): void {
    const { clock, log } = this.#ambient;
    const { limits, startedAt, rss: measure, tidy, shed, restart } = this.#parts;
    const rss = measure();
    if (rss === undefined) return;
    const now = clock.now();
    const at = limits();
    const step = memoryStep({ rss, startedAt, relievedAt: this.#relievedAt, grown: this.#growth(rss) }, at, now);
    const wasInVain = this.#inVain;
    this.#inVain = step === "in vain" || (wasInVain && rss > at.hard);
    const sizes = { rssMiB: mebibytes(rss), softMiB: mebibytes(at.soft), hardMiB: mebibytes(at.hard) };
    if (step === "tidy") {
      tidy();
      this.#tidied = measure() ?? rss;
    } else if (step === "relieve") {
      this.#relievedAt = now;
      shed();
      tidy();
      const left = measure() ?? rss;
      log.info("memory above its soft limit: caches dropped", { ...sizes, leftMiB: mebibytes(left) });
    } else if (step === "restart") {
      log.warn("memory above its hard limit: the agent starts anew", sizes);
      restart(`${sizes.rssMiB} MiB of memory, more than memory.hard (${sizes.hardMiB} MiB)`);
    } else if (step === "in vain" && !wasInVain) {
      log.warn("memory above its hard limit so soon after the start that a restart would not help", sizes);
    }
  }

  /** What its start or a term left behind is tidied up at the first look that finds it calm. */
  #growth(rss: number): number | undefined {
    if (!this.#parts.isCalm()) {
      this.#tidied = undefined;
      return undefined;
    }
    return rss - (this.#tidied ?? 0);
  }
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
