import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { sentenceOf } from "../base/errors.ts";
import type { LanAnswer } from "../judgement/lan-answer.ts";
import type { Announcement } from "./announcement.ts";
import { isSigned } from "./board-key.ts";
import { decodeAnswer, encodeQuestion, type Question, signedBytes } from "./datagrams.ts";
import type { Lan, LanPort } from "./lan.ts";

export interface QuestionerDeps {
  readonly lan: Lan;
  readonly site: string;
}

/** The boards about which a leader asks. */
export interface QuestionTargets {
  /** The boards that have been silent for long enough to be asked; undefined if they are currently unknown. */
  inDoubt(now: Instant): readonly string[] | undefined;
  /** Where a board answers, and its key; undefined if it does not answer. */
  announced(board: string): Announcement | undefined;
  /** The boot in which the board's kubelet last reported to the API server; undefined if unknown. */
  reportedBoot(board: string): string | undefined;
}

/** The last question to a board. */
interface Asked {
  readonly question: Question;
  readonly key: string;
  /** The boot in which the board's kubelet last reported. */
  readonly reportedBoot: string | undefined;
  readonly at: Instant;
  /** Whether it was answered. */
  isAnswered: boolean;
  /** Number of answers with a wrong signature. Once there are `maxForged`, no more answers are checked. */
  forged: number;
}

const period: Millis = 5000;
/**
 * Maximum number of boards asked at the same time. If more are in doubt, those that were asked longest ago come first.
 */
const maxAsked = 200;
/**
 * Maximum number of wrong answers checked per question, because each costs a signature check, and anyone who sees the
 * questions could send any number of them.
 */
const maxForged = 8;

/**
 * Asks silent boards on the LAN while this board leads, and keeps their words. While no board is in doubt, it sends
 * nothing and has no port open. An answer is kept while its board is in doubt.
 */
export class Questioner {
  readonly #ambient: Ambient;
  readonly #deps: QuestionerDeps;
  readonly #asked = new Map<string, Asked>();
  /** The boards by the nonces of their last questions. */
  readonly #byNonce = new Map<string, string>();
  readonly #words = new Map<string, LanAnswer>();
  #port: LanPort | undefined;
  #problem: string | undefined;
  #hasFailed = false;

  constructor(ambient: Ambient, deps: QuestionerDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** The last answer of a board in doubt; undefined if there is none. */
  wordOf(board: string): LanAnswer | undefined {
    return this.#words.get(board);
  }

  /** Why questions cannot be sent; undefined if they can, or no board is in doubt. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Asks until the signal aborts. Nothing is kept after that, because another board may lead by then. */
  async run(doubts: QuestionTargets, signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await this.#round(doubts, signal);
        await sleep(this.#ambient.clock, period, signal);
      }
    } finally {
      this.#keepOnly(new Set());
      this.#rest();
    }
  }

  async #round(doubts: QuestionTargets, signal: AbortSignal): Promise<void> {
    const now = this.#ambient.clock.now();
    const boards = doubts.inDoubt(now);
    if (boards === undefined) return;
    this.#keepOnly(new Set(boards));
    if (boards.length === 0) {
      this.#rest();
      return;
    }
    const port = await this.#open(signal);
    if (port !== undefined && !this.#hasFailed) this.#problem = undefined;
    this.#hasFailed = false;
    for (const board of this.#next(boards)) {
      // A question that cannot be sent counts as well, because an earlier answer must not last for ever without new
      // ones.
      const word = this.#words.get(board);
      if (word) this.#words.set(board, { ...word, asked: word.asked + 1 });
      const announced = doubts.announced(board);
      if (announced && port) this.#ask(board, { ...announced, reportedBoot: doubts.reportedBoot(board) }, port);
    }
  }

  #next(boards: readonly string[]): readonly string[] {
    if (boards.length <= maxAsked) return boards;
    const askedAt = (board: string): number => this.#asked.get(board)?.at.mono ?? Number.NEGATIVE_INFINITY;
    return [...boards].sort((a, b) => askedAt(a) - askedAt(b)).slice(0, maxAsked);
  }

  async #open(signal: AbortSignal): Promise<LanPort | undefined> {
    if (this.#port || signal.aborted) return this.#port;
    try {
      const port = await this.#deps.lan.open(0, (datagram) => this.#receive(datagram));
      if (signal.aborted) {
        port.close();
        return undefined;
      }
      this.#port = port;
      void port.closed.then((error) => {
        if (this.#port === port) this.#port = undefined;
        if (error) this.#report(error);
      });
      return port;
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  #ask(
    board: string,
    { key, port, addresses, reportedBoot }: Announcement & Pick<Asked, "reportedBoot">,
    from: LanPort,
  ): void {
    const { random, clock } = this.#ambient;
    const nonce = Buffer.from(random.uuid().replaceAll("-", ""), "hex");
    const question = { nonce, site: this.#deps.site, board };
    this.#forget(board);
    this.#asked.set(board, { question, key, reportedBoot, at: clock.now(), isAnswered: false, forged: 0 });
    this.#byNonce.set(nonce.toString("hex"), board);
    const datagram = encodeQuestion(question);
    let left = addresses.length;
    for (const address of addresses) {
      from.send(datagram, { address, port }, (error) => {
        left--;
        if (left === 0) this.#report(error);
      });
    }
  }

  #receive(datagram: Uint8Array): void {
    const answer = decodeAnswer(datagram);
    const board = answer && this.#byNonce.get(Buffer.from(answer.nonce).toString("hex"));
    const asked = board === undefined ? undefined : this.#asked.get(board);
    if (answer === undefined || board === undefined || asked === undefined) return;
    if (asked.isAnswered || asked.forged >= maxForged) return;
    const { question, key, at, reportedBoot } = asked;
    if (!isSigned(signedBytes(question, answer), answer.signature, key)) {
      asked.forged++;
      return;
    }
    asked.isAnswered = true;
    const { boot, kubelet } = answer;
    if (!this.#words.has(board))
      this.#ambient.log.info("a silent board answers on the LAN", { board, kubelet: kubelet.is, boot });
    this.#words.set(board, {
      askedAt: at,
      asked: 0,
      kubelet,
      ...(isOther(boot, reportedBoot) && { isRebooted: true }),
    });
  }

  /** Reported once, and again only if the problem changes. A question that was not sent proves nothing. */
  #report(error: unknown): void {
    this.#hasFailed = true;
    // The messages of system errors contain an address.
    const problem = error instanceof Error && "code" in error ? String(error.code) : sentenceOf(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#ambient.log.warn("silent boards cannot be asked on the LAN", { error });
  }

  #keepOnly(boards: ReadonlySet<string>): void {
    for (const board of this.#words.keys()) if (!boards.has(board)) this.#words.delete(board);
    for (const board of [...this.#asked.keys()]) if (!boards.has(board)) this.#forget(board);
  }

  #forget(board: string): void {
    const asked = this.#asked.get(board);
    if (asked) this.#byNonce.delete(Buffer.from(asked.question.nonce).toString("hex"));
    this.#asked.delete(board);
  }

  #rest(): void {
    this.#port?.close();
    this.#port = undefined;
    this.#problem = undefined;
  }
}

/**
 * Whether a board is running in a different boot from the one that its kubelet reported. A board without /proc does not
 * know its own.
 */
const isOther = (boot: string, reported: string | undefined): boolean =>
  reported !== undefined && isBootId(boot) && isBootId(reported) && boot.toLowerCase() !== reported.toLowerCase();

const isBootId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
