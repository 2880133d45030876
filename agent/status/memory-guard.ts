import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";

export interface MemoryLimits {
  /** In bytes; above it the agent sheds caches. */
  readonly soft: number;
  /** In bytes; above it the agent restarts. */
  readonly hard: number;
}

/**
 * What to do about the size of the process. tidy: collect garbage while little happens. relieve: also drop caches that
 * can be filled again. restart: start a new process. in vain: above the hard limit, but a restart would not help.
 */
export type MemoryStep = "fine" | "tidy" | "relieve" | "restart" | "in vain";

/** The input of `memoryStep`. */
export interface MemoryView {
  /** Resident memory in bytes. */
  readonly rss: number;
  readonly startedAt: Instant;
  /** When caches were last dropped; undefined if never. */
  readonly relievedAt: Instant | undefined;
  /** Growth in bytes since the last garbage collection by `tidy`; undefined while this board leads. */
  readonly growthSinceGc: number | undefined;
}

/** Minimum interval between two drops of caches, because dropped caches are soon filled again. */
const reliefEvery: Millis = 300_000;

/**
 * In bytes: growth that is worth a garbage collection. V8 keeps both semispaces of the young generation, 1 MB each,
 * once they have been full. A standby fills them in half a minute, and a collection of 25 ms returns 1.2 MB.
 */
const worthTidying = 512 * 1024;

/** Minimum age of a process for a restart: if a younger process is too large, the next one would be too. */
const worthRestart: Millis = 900_000;

/** Decides what to do about a process of this size. */
export function memoryStep(view: MemoryView, limits: MemoryLimits, now: Instant): MemoryStep {
  const { rss, startedAt, relievedAt, growthSinceGc: grown } = view;
  if (rss <= limits.soft) return grown !== undefined && grown >= worthTidying ? "tidy" : "fine";
  if (relievedAt === undefined || elapsed(relievedAt, now) >= reliefEvery) return "relieve";
  if (rss <= limits.hard) return "fine";
  return elapsed(startedAt, now) >= worthRestart ? "restart" : "in vain";
}

export interface MemoryGuardDeps {
  readonly limits: () => MemoryLimits;
  readonly startedAt: Instant;
  /** Resident memory in bytes; undefined if this system does not report it. */
  readonly rss: () => number | undefined;
  /** Whether the process has little to do: another board leads. */
  readonly isCalm: () => boolean;
  /** Collects garbage. */
  readonly tidy: () => void;
  /** Drops caches that can be rebuilt. */
  readonly shed: () => void;
  /** Ends the process cleanly; the service manager starts a new one. */
  readonly restart: (why: string) => void;
}

const sampleEvery: Millis = 15_000;

/**
 * Enforces the memory limits inside the process, because the kernel of many boards does not: Raspberry Pi OS disables the
 * memory cgroup (docs/interfaces.md#systemd).
 */
export class MemoryGuard {
  readonly #ambient: Ambient;
  readonly #deps: MemoryGuardDeps;
  #relievedAt: Instant | undefined;
  /** Resident bytes after the last `tidy`; undefined if this board has led since. */
  #tidied: number | undefined;
  /** Whether the process is above the hard limit and a restart would not help. */
  #inVain = false;

  constructor(ambient: Ambient, deps: MemoryGuardDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
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
    const { limits, startedAt, rss: measure, tidy, shed, restart } = this.#deps;
    const rss = measure();
    if (rss === undefined) return;
    const now = clock.now();
    const at = limits();
    const step = memoryStep(
      { rss, startedAt, relievedAt: this.#relievedAt, growthSinceGc: this.#growth(rss) },
      at,
      now,
    );
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
      log.info("memory above memory.soft: caches dropped", { ...sizes, leftMiB: mebibytes(left) });
    } else if (step === "restart") {
      log.warn("memory above memory.hard: the agent restarts", sizes);
      restart(`${sizes.rssMiB} MiB of memory, more than memory.hard (${sizes.hardMiB} MiB)`);
    } else if (step === "in vain" && !wasInVain) {
      log.warn("memory above memory.hard so soon after a start that a restart would not help", sizes);
    }
  }

  /**
   * See `growthSinceGc` in MemoryView. After a start or a term the first value is the whole memory, so that the
   * garbage from that time is collected.
   */
  #growth(rss: number): number | undefined {
    if (!this.#deps.isCalm()) {
      this.#tidied = undefined;
      return undefined;
    }
    return rss - (this.#tidied ?? 0);
  }
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
