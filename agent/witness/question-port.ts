import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { sentenceOf } from "../base/errors.ts";
import { type Announcement, maxAddresses } from "./announcement.ts";
import { isSigned } from "./board-key.ts";
import { decodeAnswer, encodeQuestion, type Question, signedBytes, type WitnessStatement } from "./datagrams.ts";
import type { Lan, LanPort, PathTo } from "./lan.ts";

export interface QuestionPortDeps {
  readonly lan: Lan;
  /** Reads how this machine reaches others now. */
  readonly paths: () => PathTo;
  readonly site: string;
}

/** A signed answer of a board. */
export interface ReceivedAnswer {
  readonly board: string;
  readonly statement: WitnessStatement;
  /** The key that signed it. */
  readonly key: string;
  /** The path between this machine and the address from which it came. */
  readonly path: string;
  /** When the question was sent. */
  readonly askedAt: Instant;
}

/** The last question to a board. */
interface Asked {
  readonly question: Question;
  readonly key: string;
  readonly at: Instant;
  /** The number of addresses to which it may have been sent. */
  sent: number;
  /** The paths by which the board answered. */
  readonly paths: Set<string>;
  /** How many more answers are checked. */
  checks: number;
}

/**
 * Maximum number of answers checked per question: one from each address and some wrong ones. Each costs a signature check,
 * and anyone who sees the questions could send any number of them.
 */
const maxChecks = maxAddresses + 8;

/**
 * Sends questions, and receives the signed answers to them. Each board has one question at a time, which goes to all its
 * addresses; each path by which an answer comes counts once.
 */
export class QuestionPort {
  readonly #ambient: Ambient;
  readonly #deps: QuestionPortDeps;
  readonly #answered: (answer: ReceivedAnswer) => void;
  readonly #asked = new Map<string, Asked>();
  /** The boards by the nonces of their last questions. */
  readonly #byNonce = new Map<string, string>();
  #port: LanPort | undefined;
  #problem: string | undefined;
  #hasFailed = false;
  /** How others are reached in this round of questions; undefined until it is needed. */
  #pathTo: PathTo | undefined;

  constructor(ambient: Ambient, deps: QuestionPortDeps, answered: (answer: ReceivedAnswer) => void) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#answered = answered;
  }

  /** Why questions cannot be sent; undefined if they can, or none are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Opens the port unless it is open, for a round of questions. False if it cannot be opened. */
  async open(signal: AbortSignal): Promise<boolean> {
    this.#pathTo = undefined;
    if (this.#port === undefined && !signal.aborted) await this.#openPort(signal);
    const isOpen = this.#port !== undefined;
    if (isOpen && !this.#hasFailed) this.#problem = undefined;
    this.#hasFailed = false;
    return isOpen;
  }

  ask(board: string, { key, port, addresses }: Announcement): void {
    const { random, clock } = this.#ambient;
    const from = this.#port;
    if (from === undefined) return;
    const nonce = Buffer.from(random.uuid().replaceAll("-", ""), "hex");
    const question = { nonce, site: this.#deps.site, board };
    this.#forget(board);
    const answers = { paths: new Set<string>(), checks: maxChecks };
    const asked = { question, key, at: clock.now(), sent: addresses.length, ...answers };
    this.#asked.set(board, asked);
    this.#byNonce.set(nonce.toString("hex"), board);
    const datagram = encodeQuestion(question);
    for (const address of addresses) {
      from.send(datagram, { address, port }, (error) => {
        asked.sent--;
        if (asked.sent === 0) this.#report(error);
      });
    }
  }

  /** The path to an address in this round of questions. */
  pathTo(address: string): string {
    this.#pathTo ??= this.#deps.paths();
    return this.#pathTo(address);
  }

  /** When the board was asked last; undefined if it was not. */
  askedAt(board: string): Instant | undefined {
    return this.#asked.get(board)?.at;
  }

  /**
   * What became of the last question to the board. unknown: it certainly did not leave this machine, or wrong answers used
   * up all checks and may have crowded out the board's own.
   */
  outcome(board: string): "answered" | "unanswered" | "unknown" {
    const asked = this.#asked.get(board);
    if (asked === undefined || asked.sent === 0) return "unknown";
    if (asked.paths.size > 0) return "answered";
    return asked.checks === 0 ? "unknown" : "unanswered";
  }

  /** The paths by which the board answered its last question. */
  pathsOf(board: string): Iterable<string> {
    return this.#asked.get(board)?.paths ?? [];
  }

  keepOnly(boards: ReadonlySet<string>): void {
    for (const board of [...this.#asked.keys()]) if (!boards.has(board)) this.#forget(board);
  }

  /** Closes the port and forgets all questions. */
  close(): void {
    this.keepOnly(new Set());
    this.#port?.close();
    this.#port = undefined;
    this.#problem = undefined;
  }

  async #openPort(signal: AbortSignal): Promise<void> {
    try {
      const port = await this.#deps.lan.open(0, (datagram, _reply, sender) => this.#receive(datagram, sender));
      if (signal.aborted) {
        port.close();
        return;
      }
      this.#port = port;
      void port.closed.then((error) => {
        if (this.#port === port) this.#port = undefined;
        if (error) this.#report(error);
      });
    } catch (error) {
      this.#report(error);
    }
  }

  #receive(datagram: Uint8Array, sender: string): void {
    const answer = decodeAnswer(datagram);
    const board = answer && this.#byNonce.get(Buffer.from(answer.nonce).toString("hex"));
    const asked = board === undefined ? undefined : this.#asked.get(board);
    if (answer === undefined || board === undefined || asked === undefined) return;
    const { question, key, at, paths } = asked;
    const path = this.pathTo(sender);
    if (asked.checks === 0 || paths.has(path)) return;
    asked.checks--;
    if (!isSigned(signedBytes(question, answer), answer.signature, key)) return;
    paths.add(path);
    const { boot, kubelet } = answer;
    this.#answered({ board, statement: { boot, kubelet }, key, path, askedAt: at });
  }

  /** Reported once, and again only if the problem changes. */
  #report(error: unknown): void {
    this.#hasFailed = true;
    // The messages of system errors contain an address.
    const problem = error instanceof Error && "code" in error ? String(error.code) : sentenceOf(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#ambient.log.warn("boards cannot be asked on the LAN", { error });
  }

  #forget(board: string): void {
    const asked = this.#asked.get(board);
    if (asked) this.#byNonce.delete(Buffer.from(asked.question.nonce).toString("hex"));
    this.#asked.delete(board);
  }
}
