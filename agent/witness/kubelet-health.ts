import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { recordIn } from "../base/json.ts";
import type { KubeletState } from "../judgement/lan-answer.ts";

/** silent: it did not answer. unasked: something listens as the kubelet does, but this machine could not connect to it. */
export type KubeletAnswer = "ok" | "unhealthy" | "silent" | "unasked";

/** Asks the kubelet of this machine for its health. */
export type AskKubelet = () => Promise<KubeletAnswer>;

/** Where the facts about the kubelet are stored. After a power cut, the file has the previous text or the new one. */
export interface KubeletFile {
  /** The file's text; undefined if there is none. */
  read(): string | undefined;
  write(text: string): void;
}

export interface KubeletHealthDeps {
  readonly ask: AskKubelet;
  readonly file: KubeletFile;
  readonly bootId: string;
}

/** The time for which the kubelet has been down. */
interface Down {
  /** When it was first found down, possibly by an earlier process of this boot. */
  readonly since: Instant;
  /** When this process first found it down. */
  readonly found: Instant;
  readonly seen: Instant;
}

/** For how long an answer of the kubelet is reused. */
const fresh: Millis = 1000;
/** A kubelet that is found down again within this time counts as having been down all the time. */
const continues: Millis = 300_000;
/**
 * How long a kubelet must be down before a process adopts the down time that an earlier process measured, because a
 * busy kubelet may miss one answer.
 */
const confirmed: Millis = 5000;
const maxTextLength = 1024;

/**
 * The health of this board's kubelet, read when it is needed. A kubelet whose health endpoint is turned off never
 * answers, so silence means "down" only if it has answered on this board before. Whether it has, and since when it has
 * been down in this boot, is stored; the file is written when one of the two changes, not with each answer.
 */
export class KubeletHealth {
  readonly #ambient: Pick<Ambient, "clock" | "log">;
  readonly #deps: KubeletHealthDeps;
  /** The content of the file; undefined if it is not known. */
  #kept: string | undefined;
  #hasAnswered = false;
  /**
   * Since when the kubelet had been down at the last check by an earlier process of this boot. Unused after the first
   * check.
   */
  #inherited: Millis | undefined;
  #asking: Promise<KubeletState> | undefined;
  #last: { readonly state: KubeletState; readonly at: Instant } | undefined;
  #down: Down | undefined;

  constructor(ambient: Pick<Ambient, "clock" | "log">, deps: KubeletHealthDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#recall();
  }

  /** Whether the kubelet has ever answered on this board. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Whether the kubelet was down when it was last asked. */
  get isDown(): boolean {
    return this.#down !== undefined;
  }

  async state(): Promise<KubeletState> {
    const now = this.#ambient.clock.now();
    if (this.#last && elapsed(this.#last.at, now) < fresh) return this.#last.state;
    this.#asking ??= this.#read().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #read(): Promise<KubeletState> {
    const answer = await this.#deps.ask();
    const now = this.#ambient.clock.now();
    const state = this.#stateAfter(answer, now);
    this.#last = { state, at: now };
    this.#keep();
    return state;
  }

  #stateAfter(answer: KubeletAnswer, now: Instant): KubeletState {
    this.#hasAnswered ||= answer === "ok" || answer === "unhealthy";
    const inherited = this.#inherited;
    this.#inherited = undefined;
    if (answer === "ok" || answer === "unasked" || !this.#hasAnswered) {
      this.#down = undefined;
      return { is: answer === "ok" ? "ok" : "unknown" };
    }
    const before = this.#down;
    if (before && elapsed(before.seen, now) <= continues) this.#down = { ...before, seen: now };
    else this.#down = { since: { ...now, mono: inherited ?? now.mono }, found: now, seen: now };
    const { since, found } = this.#down;
    return { is: "down", forMs: elapsed(elapsed(found, now) >= confirmed ? since : found, now) };
  }

  #recall(): void {
    const { clock, log } = this.#ambient;
    const { file, bootId } = this.#deps;
    try {
      this.#kept = file.read();
    } catch (error) {
      log.warn("the stored state of the kubelet cannot be read", { error });
    }
    const { answered, boot, downSince } = recordIn(this.#kept ?? "", maxTextLength) ?? {};
    this.#hasAnswered = answered === true;
    const isOfThisBoot = boot === bootId && typeof downSince === "number" && downSince <= clock.now().mono;
    if (this.#hasAnswered && isOfThisBoot) this.#inherited = downSince;
  }

  /** Stores the facts. If that fails, the next answer retries; until then, a restart would lose them. */
  #keep(): void {
    if (!this.#hasAnswered) return;
    const { file, bootId } = this.#deps;
    const down = this.#down && { boot: bootId, downSince: Math.floor(this.#down.since.mono) };
    const text = `${JSON.stringify({ v: 1, answered: true, ...down })}\n`;
    if (text === this.#kept) return;
    try {
      file.write(text);
      this.#kept = text;
    } catch (error) {
      this.#ambient.log.debug("the state of the kubelet was not stored", { error });
    }
  }
}
