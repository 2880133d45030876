import { isIPv4 } from "node:net";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { sentenceOf } from "../base/errors.ts";
import { type Announcement, maxAddresses } from "./announcement.ts";
import { isSigned } from "./board-key.ts";
import type { HeardAnswer } from "./calibration.ts";
import { decodeAnswer, encodeQuestion, type Question, signedBytes, type WitnessStatement } from "./datagrams.ts";
import type { Lan, LanPort, PathTo } from "./lan.ts";

export interface QuestionPortDeps {
  readonly lan: Lan;
  /** Reads how this machine reaches others now. */
  readonly paths: () => PathTo;
  /** The broadcast and multicast addresses that reach every machine on a path; empty if there are none. */
  readonly everyoneOn: (path: string) => readonly string[];
  readonly site: string;
}

/** A signed answer of a board. */
export interface ReceivedAnswer {
  readonly board: string;
  readonly statement: WitnessStatement;
  /** How the board is reached; undefined if the answer came by another path than that of the question. */
  readonly heard: HeardAnswer | undefined;
  /** When the question was sent. */
  readonly askedAt: Instant;
}

/** The last questions to a board, one to each of its addresses. */
interface Asked {
  readonly key: string;
  readonly at: Instant;
  readonly nonces: string[];
  /** The number of addresses to which a question may have been sent. */
  sent: number;
  isAnswered: boolean;
  /** The paths by which the board answered. */
  readonly paths: Set<string>;
  /** How many answers were checked, by the path of their question. */
  readonly checks: Map<string, number>;
  /** How many answers to broadcast questions, which every machine on a network could read, were checked, by sender. */
  readonly openChecks: Map<string, number>;
}

interface SentQuestion {
  readonly question: Question;
  /** The path to the address to which it was sent. */
  readonly path: string;
  /** Whether it went to a broadcast or multicast address of that path instead of one of the board's own. */
  readonly isOpen: boolean;
}

/**
 * Maximum number of answers checked per board, path and round: one from each address and some wrong ones. Each costs a
 * signature check, and anyone who sees the questions on a network could send any number of them there.
 */
const maxChecks = maxAddresses + 8;
/**
 * The same for broadcast questions, by the sender's address, so that the wrong answers of one machine do not crowd out
 * the board's own. A board answers from one address on each of its networks.
 */
const maxOpenChecks = 2;
/** The number of senders whose answers to such questions are checked. */
const maxSenders = 64;

/**
 * Sends questions, and receives the signed answers to them. Each address of a board is sent a question of its own, so
 * that an answer shows which path works: an answer that was copied from another network does not fit. Each path counts
 * once.
 */
export class QuestionPort {
  readonly #ambient: Ambient;
  readonly #deps: QuestionPortDeps;
  readonly #answered: (answer: ReceivedAnswer) => void;
  readonly #asked = new Map<string, Asked>();
  /** The last questions to all boards by their nonces. */
  readonly #byNonce = new Map<string, SentQuestion>();
  #port: LanPort | undefined;
  #problem: string | undefined;
  #hasFailed = false;
  /** How others are reached in this round of questions; undefined until it is needed. */
  #pathTo: PathTo | undefined;
  readonly #networks = new Map<string, readonly string[]>();

  constructor(ambient: Ambient, deps: QuestionPortDeps, answered: (answer: ReceivedAnswer) => void) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#answered = answered;
  }

  /** Why the last questions could not be sent; undefined if they could, or none were. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Opens the port unless it is open, for a round of questions. False if it cannot be opened. */
  async open(signal: AbortSignal): Promise<boolean> {
    this.#pathTo = undefined;
    this.#networks.clear();
    if (this.#port === undefined && !signal.aborted) await this.#openPort(signal);
    const isOpen = this.#port !== undefined;
    if (isOpen && !this.#hasFailed) this.#problem = undefined;
    this.#hasFailed = false;
    return isOpen;
  }

  ask(board: string, { key, port, addresses }: Announcement): void {
    const { clock } = this.#ambient;
    const from = this.#port;
    if (from === undefined) return;
    this.#forget(board);
    const asked: Asked = {
      key,
      at: clock.now(),
      nonces: [],
      sent: addresses.length,
      isAnswered: false,
      paths: new Set(),
      checks: new Map(),
      openChecks: new Map(),
    };
    this.#asked.set(board, asked);
    for (const address of addresses) {
      const question = this.#question(board, asked, { path: this.pathTo(address), isOpen: false });
      from.send(question, { address, port }, (error) => {
        asked.sent--;
        if (asked.sent === 0) this.#report(error);
      });
    }
  }

  /**
   * Also broadcasts a question on these paths for a board that was just asked, because its address may have changed.
   * Only an answer counts: that a question could not be sent, or brings wrong answers, shows nothing.
   */
  askEveryone(board: string, { port }: Announcement, paths: readonly string[]): void {
    const [from, asked] = [this.#port, this.#asked.get(board)];
    if (from === undefined || asked === undefined) return;
    for (const path of paths)
      for (const address of this.#deps.everyoneOn(path))
        from.send(this.#question(board, asked, { path, isOpen: true }), { address, port }, () => {});
  }

  /** A new question about a board, to be recognised by its nonce. */
  #question(board: string, asked: Asked, at: Pick<SentQuestion, "path" | "isOpen">): Uint8Array {
    const nonce = Buffer.from(this.#ambient.random.uuid().replaceAll("-", ""), "hex");
    const question = { nonce, site: this.#deps.site, board };
    const id = nonce.toString("hex");
    asked.nonces.push(id);
    this.#byNonce.set(id, { question, ...at });
    return encodeQuestion(question);
  }

  /** The path to an address in this round of questions. */
  pathTo(address: string): string {
    this.#pathTo ??= this.#deps.paths();
    return this.#pathTo(address);
  }

  /** The IPv4 networks that this machine has on a path in this round, by their broadcast addresses. */
  networksOn(path: string): readonly string[] {
    const known = this.#networks.get(path);
    if (known !== undefined) return known;
    const networks = this.#deps.everyoneOn(path).filter(isIPv4);
    this.#networks.set(path, networks);
    return networks;
  }

  /** When the board was asked last; undefined if it was not. */
  askedAt(board: string): Instant | undefined {
    return this.#asked.get(board)?.at;
  }

  /**
   * The outcome of the last questions to the board. unknown: they certainly did not leave this machine, or wrong
   * answers used up all checks and may have crowded out the board's own.
   */
  outcome(board: string): "answered" | "unanswered" | "unknown" {
    const asked = this.#asked.get(board);
    if (asked === undefined || asked.sent === 0) return "unknown";
    if (asked.isAnswered) return "answered";
    return [...asked.checks.values()].some((count) => count === maxChecks) ? "unknown" : "unanswered";
  }

  /** The paths by which the board answered its last questions. */
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
    if (!this.#hasFailed) this.#problem = undefined;
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
    const sent = answer && this.#byNonce.get(Buffer.from(answer.nonce).toString("hex"));
    const asked = sent && this.#asked.get(sent.question.board);
    if (answer === undefined || sent === undefined || asked === undefined) return;
    const { question, path: askedBy, isOpen } = sent;
    if (asked.paths.has(askedBy) || !(isOpen ? takesOpen(asked, sender) : takes(asked, askedBy))) return;
    if (!isSigned(signedBytes(question, answer), answer.signature, asked.key)) return;
    asked.isAnswered = true;
    const path = this.pathTo(sender) === askedBy ? askedBy : undefined;
    if (path !== undefined) asked.paths.add(path);
    const { boot, kubelet } = answer;
    this.#answered({
      board: question.board,
      statement: { boot, kubelet },
      heard: path === undefined ? undefined : { key: asked.key, path, at: asked.at, networks: this.networksOn(path) },
      askedAt: asked.at,
    });
  }

  /** Logs a problem once, and again only if it changes. */
  #report(error: unknown): void {
    this.#hasFailed = true;
    // The messages of system errors contain an address.
    const problem = error instanceof Error && "code" in error ? String(error.code) : sentenceOf(error);
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#ambient.log.warn("boards cannot be asked on the LAN", { error });
  }

  #forget(board: string): void {
    for (const nonce of this.#asked.get(board)?.nonces ?? []) this.#byNonce.delete(nonce);
    this.#asked.delete(board);
  }
}

/** Whether another answer to a question that was sent by this path is to be checked; counts it. */
function takes({ checks }: Asked, path: string): boolean {
  const checked = checks.get(path) ?? 0;
  if (checked === maxChecks) return false;
  checks.set(path, checked + 1);
  return true;
}

/** Whether another answer of this sender to a broadcast question is to be checked; counts it. */
function takesOpen({ openChecks }: Asked, sender: string): boolean {
  const checked = openChecks.get(sender) ?? 0;
  if (checked === maxOpenChecks || (checked === 0 && openChecks.size === maxSenders)) return false;
  openChecks.set(sender, checked + 1);
  return true;
}
