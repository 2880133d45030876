import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import type { KubeletState } from "../judgement/word.ts";

/** Asks the kubelet of this machine for its health. silent: it did not answer, or could not be asked. */
export type AskKubelet = () => Promise<"ok" | "unhealthy" | "silent">;

/** For how long an answer of the kubelet is used again. */
const fresh: Millis = 1000;
/** A kubelet that is found down again within this time has been down all the time. */
const continues: Millis = 300_000;
const [area, key] = ["witness", "kubelet-answered"];

/**
 * The health of this board's kubelet, read when it is needed. A kubelet whose health endpoint is turned off never
 * answers: so silence means "down" only once it has answered on this board, which is stored.
 */
export class KubeletHealth {
  readonly #clock: Clock;
  readonly #ask: AskKubelet;
  readonly #facts: KeyValueStore;
  #hasAnswered = false;
  #asking: Promise<KubeletState> | undefined;
  #last: { readonly state: KubeletState; readonly at: Instant } | undefined;
  #down: { readonly since: Instant; readonly seen: Instant } | undefined;

  constructor(clock: Clock, { ask, facts }: { readonly ask: AskKubelet; readonly facts: KeyValueStore }) {
    this.#clock = clock;
    this.#ask = ask;
    this.#facts = facts;
  }

  /** Whether the kubelet has ever answered on this board. */
  get hasAnswered(): boolean {
    this.#hasAnswered ||= this.#facts.get(area, key) !== undefined;
    return this.#hasAnswered;
  }

  async state(): Promise<KubeletState> {
    const now = this.#clock.now();
    if (this.#last && elapsed(this.#last.at, now) < fresh) return this.#last.state;
    this.#asking ??= this.#read().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #read(): Promise<KubeletState> {
    const answer = await this.#ask();
    const now = this.#clock.now();
    if (answer !== "silent" && !this.hasAnswered) {
      this.#hasAnswered = true;
      this.#facts.set(area, key, "yes");
    }
    const state = this.#stateAfter(answer, now);
    this.#last = { state, at: now };
    return state;
  }

  #stateAfter(answer: "ok" | "unhealthy" | "silent", now: Instant): KubeletState {
    if (answer === "ok" || !this.hasAnswered) {
      this.#down = undefined;
      return { is: answer === "ok" ? "ok" : "unknown" };
    }
    const before = this.#down;
    const since = before && elapsed(before.seen, now) <= continues ? before.since : now;
    this.#down = { since, seen: now };
    return { is: "down", forMs: elapsed(since, now) };
  }
}
