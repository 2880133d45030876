import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import { sentenceOf } from "../base/errors.ts";
import { fullBucket, type TokenBucket, take } from "../base/token-bucket.ts";
import type { BoardKey } from "./board-key.ts";
import { decodeQuestion, encodeAnswer, type Question, signedBytes } from "./datagrams.ts";
import type { KubeletHealth } from "./kubelet-health.ts";
import type { Lan, LanPort } from "./lan.ts";

export interface AnswererDeps {
  readonly lan: Lan;
  readonly port: number;
  readonly site: string;
  /** The Node of this board. */
  readonly board: string;
  readonly bootId: string;
  readonly key: BoardKey;
  readonly kubelet: KubeletHealth;
}

/** At most ten answers in any second, so that a flood costs the board little. */
const rate = { perSecond: 5, burst: 5 };
/** How long to wait before the port is reopened. */
const reopenEvery: Millis = 60_000;
/** Interval at which a kubelet that has never responded is probed even if no question arrives. */
const firstAnswerEvery: Millis = 600_000;
/** Interval at which a kubelet that is down is probed even if no question arrives, so that its return is noticed. */
const returnEvery: Millis = 60_000;

/**
 * Answers signed questions from other boards on the LAN, so that a leader can distinguish a board that lost its API
 * link from a dead one. A question that is not for this board of this site is not answered.
 */
export class Answerer {
  readonly #ambient: Ambient;
  readonly #deps: AnswererDeps;
  #bucket: TokenBucket;
  #problem: string | undefined;

  constructor(ambient: Ambient, deps: AnswererDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#bucket = fullBucket(ambient.clock.now(), rate.burst);
  }

  /** Why this board cannot answer; undefined if it can, or has not tried yet. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#answer(signal), this.#watchKubelet(signal)]);
  }

  async #answer(signal: AbortSignal): Promise<void> {
    const { lan, port } = this.#deps;
    while (!signal.aborted) {
      try {
        const open = await lan.open(port, (datagram, reply) => this.#receive(datagram, reply));
        this.#problem = undefined;
        const error = await untilClosed(open, signal);
        if (error) this.#report(error);
      } catch (error) {
        this.#report(error);
      }
      await sleep(this.#ambient.clock, reopenEvery, signal);
    }
  }

  /** Logs a problem once, and again only if it changes. */
  #report(error: unknown): void {
    const problem = sentenceOf(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#ambient.log.warn("this board does not answer on the LAN", { port: this.#deps.port, error });
  }

  /**
   * Finds out, while the kubelet is probably running, whether it can be asked at all, and notices when a kubelet that
   * was down is running again.
   */
  async #watchKubelet(signal: AbortSignal): Promise<void> {
    const { kubelet } = this.#deps;
    await kubelet.state();
    while (!signal.aborted) {
      await sleep(this.#ambient.clock, kubelet.hasAnswered ? returnEvery : firstAnswerEvery, signal);
      if (!kubelet.hasAnswered || kubelet.isDown) await kubelet.state();
    }
  }

  #receive(datagram: Uint8Array, reply: (datagram: Uint8Array) => void): void {
    const { site, board } = this.#deps;
    const question = decodeQuestion(datagram);
    if (question === undefined || question.site !== site || question.board !== board) return;
    const now = this.#ambient.clock.now();
    const [granted, rest] = take(this.#bucket, rate, now);
    this.#bucket = rest;
    if (granted) void this.#say(question, reply);
  }

  async #say(question: Question, reply: (datagram: Uint8Array) => void): Promise<void> {
    const { bootId, key, kubelet } = this.#deps;
    try {
      const statement = { boot: bootId, kubelet: await kubelet.state() };
      const signature = key.sign(signedBytes(question, statement));
      reply(encodeAnswer({ nonce: question.nonce, ...statement, signature }));
    } catch (error) {
      this.#ambient.log.debug("a question on the LAN was not answered", { error });
    }
  }
}

/**
 * Waits until the port is closed by an error, which is returned, or until the signal aborts, in which case the port is
 * closed here.
 */
async function untilClosed(port: LanPort, signal: AbortSignal): Promise<Error | undefined> {
  const close = (): void => port.close();
  if (signal.aborted) close();
  else signal.addEventListener("abort", close, { once: true });
  const error = await port.closed;
  signal.removeEventListener("abort", close);
  return error;
}
