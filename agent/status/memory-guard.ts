import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";

export interface MemoryLimits {
  /** Beyond it the agent gives back what it can. */
  readonly soft: number;
  /** Beyond it the agent starts anew. */
  readonly hard: number;
}

/** relieve: give back what can be read or made again. restart: only a new process is small. */
export type MemoryStep = "fine" | "relieve" | "restart" | "in vain";

/** What the step rests on. */
export interface MemoryView {
  readonly rss: number;
  readonly startedAt: Instant;
  readonly relievedAt: Instant | undefined;
}

/** What was given back is needed again soon: it is not taken away at every look. */
const reliefEvery: Millis = 300_000;

/** A process that is too large so soon after its start would be so again: the limit is wrong, or the site too large for it. */
const worthRestart: Millis = 900_000;

/** What to do about a process of this size. */
export function memoryStep({ rss, startedAt, relievedAt }: MemoryView, limits: MemoryLimits, now: Instant): MemoryStep {
  if (rss <= limits.soft) return "fine";
  if (relievedAt === undefined || elapsed(relievedAt, now) >= reliefEvery) return "relieve";
  if (rss <= limits.hard) return "fine";
  return elapsed(startedAt, now) >= worthRestart ? "restart" : "in vain";
}

export interface MemoryGuardParts {
  readonly limits: () => MemoryLimits;
  readonly startedAt: Instant;
  /** The process' resident memory; undefined: the system does not tell. */
  readonly rss: () => number | undefined;
  /** Drops what is cached and has it collected. */
  readonly relieve: () => void;
  /** Asks the process to end in good order, and to be started anew. */
  readonly restart: (why: string) => void;
}

const sampleEvery: Millis = 15_000;

/**
 * Looks at the process' own memory, because on many boards nobody else does: Raspberry Pi kernels leave the memory cgroup
 * off (interfaces 2.8).
 */
export class MemoryGuard {
  readonly #ambient: Ambient;
  readonly #parts: MemoryGuardParts;
  #relievedAt: Instant | undefined;
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
    const { limits, startedAt, rss: measure, relieve, restart } = this.#parts;
    const rss = measure();
    if (rss === undefined) return;
    const now = clock.now();
    const at = limits();
    const step = memoryStep({ rss, startedAt, relievedAt: this.#relievedAt }, at, now);
    const wasInVain = this.#inVain;
    this.#inVain = step === "in vain" || (wasInVain && rss > at.hard);
    const sizes = { rssMiB: mebibytes(rss), softMiB: mebibytes(at.soft), hardMiB: mebibytes(at.hard) };
    if (step === "relieve") {
      this.#relievedAt = now;
      relieve();
      const left = measure() ?? rss;
      log.info("memory above its soft limit: caches dropped", { ...sizes, leftMiB: mebibytes(left) });
    } else if (step === "restart") {
      log.warn("memory above its hard limit: the agent starts anew", sizes);
      restart(`${sizes.rssMiB} MiB of memory, more than memory.hard (${sizes.hardMiB} MiB)`);
    } else if (step === "in vain" && !wasInVain) {
      log.warn("memory above its hard limit so soon after the start that a restart would not help", sizes);
    }
  }
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
