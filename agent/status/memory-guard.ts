import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";

export interface MemoryLimits {
  /** In bytes; above it the agent sheds caches. */
  readonly soft: number;
  /** In bytes; above it the agent restarts. */
  readonly hard: number;
}

/**
 * tidy: collect garbage of a calm process. relieve: also drop caches that can be rebuilt. restart: only a new process
 * is small. in vain: above the hard limit, but a restart would not help.
 */
export type MemoryStep = "fine" | "tidy" | "relieve" | "restart" | "in vain";

/** The input of `memoryStep`. */
export interface MemoryView {
  readonly rss: number;
  readonly startedAt: Instant;
  readonly relievedAt: Instant | undefined;
  /** Bytes grown since the last tidying of a calm process; undefined: it is not calm. */
  readonly grown: number | undefined;
}

/** Minimum interval between reliefs: dropped caches are soon needed again. */
const reliefEvery: Millis = 300_000;

/**
 * V8 keeps both semispaces of the young generation, 1 MB each, once they were full. A standby fills them in half a
 * minute and takes 25 ms to return them: 1.2 MB for a thousandth of a core.
 */
const worthTidying = 512 * 1024;

/** A process too large this soon after its start would be so again: the limit is too low for the site. */
const worthRestart: Millis = 900_000;

/** Decides what to do about a process of this size. */
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
  /** Resident memory in bytes; undefined: unknown on this system. */
  readonly rss: () => number | undefined;
  /** Whether the process has little to do: another board leads. */
  readonly isCalm: () => boolean;
  /** Collects garbage. */
  readonly tidy: () => void;
  /** Drops caches that can be rebuilt. */
  readonly shed: () => void;
  /** Ends the process in good order, to be started again. */
  readonly restart: (why: string) => void;
}

const sampleEvery: Millis = 15_000;

/**
 * Enforces the memory limits from within, as on many boards nothing else does: Raspberry Pi kernels disable the memory
 * cgroup (docs/interfaces.md#systemd).
 */
export class MemoryGuard {
  readonly #ambient: Ambient;
  readonly #parts: MemoryGuardParts;
  #relievedAt: Instant | undefined;
  /** Resident bytes after the last tidying; undefined unless calm since. */
  #tidied: number | undefined;
  /** Above the hard limit, and a restart would not help. */
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

  /** The first calm sample counts in full, so that leftovers of the start or a term are tidied. */
  #growth(rss: number): number | undefined {
    if (!this.#parts.isCalm()) {
      this.#tidied = undefined;
      return undefined;
    }
    return rss - (this.#tidied ?? 0);
  }
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
