import { createHash } from "node:crypto";
import type { CommandRow } from "../../storage/command-log.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { type LastingEnd, readLastingEnd } from "../base/lasting-end.ts";
import { AnswerStream } from "./answer-stream.ts";
import type { BoardControls } from "./board-controls.ts";
import { type DeskState, incomplete, isMutating, judge, type Read } from "./checks.ts";
import type { Author, SiteControls } from "./controls.ts";
import { DeskCounts } from "./desk-counts.ts";
import { type Envelope, idPattern, namePattern, parseEnvelope } from "./envelope.ts";
import { type End, Executions } from "./executions.ts";
import { type Known, type Ledger, readAnswer } from "./ledger.ts";
import type { LogLevels } from "./log-levels.ts";
import { isDisabled, type Policy } from "./policy.ts";
import { admit, freshRates, mayRefuse, type RateState } from "./rate-limits.ts";
import { RecentAnswers } from "./recent-answers.ts";
import { correlationTooLong, type Refusal, rejected } from "./refusal.ts";
import { commands } from "./registry.ts";
import type { Answer, Request, Taken } from "./request.ts";
import { answerExpiry, type Outcome, response } from "./responses.ts";
import { fateOf, originOf, scopeOf } from "./resume.ts";
import { fingerprintOf } from "./signature.ts";
import type { Trust } from "./trust.ts";

/** What a transport hands commands to. */
export interface CommandTaker {
  /** Resolves only when the command is durable or needs not be, so that it may be acknowledged. Never rejects. */
  take(request: Request): Promise<Taken>;
  /**
   * Answers that nobody waits for in this process: to commands of the process before this one. The fleet's link
   * publishes them as it does those of `take`.
   */
  leftover(signal: AbortSignal): AsyncIterable<Answer>;
  /** A terminal answer is in the outbox: the next process need not give it again. Joins a transaction of state.db. */
  told(answer: Answer): void;
  /** The names of the commands that are allowed here, for the birth message. */
  known(): readonly string[];
}

export interface DeskParts {
  readonly board: string;
  readonly ledger: Ledger;
  readonly levels: LogLevels;
  readonly site: SiteControls;
  readonly controls: BoardControls;
  readonly clock: () => "synced" | "unsynced";
  /** Read anew for each command: an installed key counts at once. */
  readonly rules: () => { readonly trust: Trust; readonly policy: Policy };
  /** Why nothing can be written down at present. */
  readonly obstacle: () => string | undefined;
  /** Something happened that the status tells of. */
  readonly changed: () => void;
}

/** What is known of a command from the moment it came. */
interface Ticket extends Pick<Request, "id" | "name" | "scope" | "origin"> {
  readonly since: Instant;
  readonly lapses: LastingEnd | undefined;
}

const tidyPeriod: Millis = 60_000;

/**
 * Where commands arrive, from the fleet and from the board itself: each is judged, written down, carried out once and
 * answered (interfaces 1.6 and 1.7).
 */
export class CommandDesk implements CommandTaker {
  readonly counts: DeskCounts;
  readonly #ambient: Ambient;
  readonly #parts: DeskParts;
  readonly #executions: Executions;
  readonly #recent = new RecentAnswers();
  readonly #leftovers = new AnswerStream();
  #rates: RateState | undefined;

  constructor(ambient: Ambient, parts: DeskParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.counts = new DeskCounts(ambient);
    const { site, controls, levels, rules } = parts;
    this.#executions = new Executions(ambient, {
      site,
      board: controls,
      desk: {
        cancel: (id, dryRun) => this.#executions.cancel(id, dryRun),
        setLogLevel: (order) => levels.set(order),
        mayUploadTo: (host) => rules().policy.uploadHosts.includes(host),
      },
    });
  }

  known(): readonly string[] {
    const { policy } = this.#parts.rules();
    return [...commands.keys()].filter((name) => !isDisabled(policy, name));
  }

  /** Takes up what the process before left behind, and keeps the log short. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, levels } = this.#parts;
    let isTakenUp = false;
    while (!signal.aborted) {
      this.#guarded(() => {
        // An end that cannot be written down would come again with the next process.
        if (!isTakenUp && this.#parts.obstacle() === undefined) {
          this.#takeUp(signal);
          isTakenUp = true;
        }
        ledger.writeRest();
        ledger.forget();
      });
      await sleep(this.#ambient.clock, tidyPeriod, signal);
    }
    await this.#executions.end();
    this.#guarded(() => levels.end());
    ledger.writeRest();
    this.#leftovers.end();
  }

  async *leftover(signal: AbortSignal): AsyncIterable<Answer> {
    signal.addEventListener("abort", () => this.#leftovers.end(), { once: true });
    yield* this.#leftovers;
  }

  told({ id, isTerminal }: Answer): void {
    if (isTerminal) this.#parts.ledger.told(id);
  }

  async take(request: Request): Promise<Taken> {
    const { id, name, scope, origin, payload, retained } = request;
    const { ledger } = this.#parts;
    // Rows 3 and 4: there is no trustworthy place to answer.
    if (!idPattern.test(id) || !namePattern.test(name)) return this.#ignored("topic");
    const early: Ticket = { id, name, scope, origin, since: this.#ambient.clock.now(), lapses: ledger.endOf(request) };
    // Before row 2: whoever clears a topic on which a command was retained sends this, and retained.
    if (payload.length === 0) return this.#ignored("empty");
    if (retained) return this.#refuseEarly(rejected(400, "retained-command", "commands are never retained"), early);
    if (request.asksTooMuch) return this.#refuseEarly(correlationTooLong, early);
    const read = parseEnvelope(payload, request);
    if ("refusal" in read) return this.#refuseEarly(read.refusal, early);
    const { envelope } = read;
    const refusal = incomplete(request, envelope);
    const hash = hashOf(request);
    const ticket = { ...early, lapses: ledger.endOf(request, envelope.exp) };
    try {
      const known = this.#recent.find(id, hash) ?? ledger.find(id);
      // A broker that starts anew may deliver once more what is just over, and without its time: it stays what it was.
      if (refusal && known?.hash !== hash) return this.#refuseEarly(refusal, early);
      const limited = this.#limit(request, envelope, known, ticket);
      if (limited) return limited;
      if (known?.hash === hash) return this.#replay(known, ticket);
      if (known) return this.#refuse(rejected(409, "id-reused", "this id was another command's"), ticket);
      const judged = judge(request, envelope, this.#state());
      if ("error" in judged) return this.#refuse(judged, ticket, hash);
      const isWritten = isMutating(judged.definition) && envelope.dryRun !== true;
      return isWritten
        ? this.#accept(judged, request, ticket, hash)
        : await this.#answer(judged, request, ticket, hash);
    } catch (error) {
      // The log cannot even be read.
      return this.#refuse(this.#unavailable(error), ticket);
    }
  }

  /** Row 10. A command that was accepted before is not told that it was refused. */
  #limit(request: Request, envelope: Envelope, known: Known | undefined, ticket: Ticket): Taken | undefined {
    if (request.origin === "local") return undefined;
    const now = this.#ambient.clock.now();
    const definition = commands.get(envelope.name);
    const asked = {
      issuer: authorOf(request, envelope).by,
      isMutating: definition !== undefined && isMutating(definition) && envelope.dryRun !== true,
    };
    const [admission, rates] = admit(this.#rates ?? freshRates(now), asked, now);
    this.#rates = rates;
    if (admission.is === "granted") return undefined;
    const refusal = { ...rejected(429, "rate-limited", "too many commands"), retryAfterMs: admission.retryAfter };
    const taken = this.#refuse(refusal, ticket);
    return admission.isAnswered && !known ? taken : "no answer";
  }

  /** From the commit in here on the command is carried out, whatever happens to this process. */
  #accept(command: Read, request: Request, ticket: Ticket, hash: string): Taken {
    const { envelope, signature } = command;
    const author = authorOf(request, envelope);
    const answer = this.#response({ state: "accepted", code: 202 }, ticket);
    const key = signature.is === "valid" ? fingerprintOf(signature.key.key) : undefined;
    try {
      this.#parts.ledger.admit({ request, envelope, by: author.by, hash, answer: answer.body, key });
    } catch (error) {
      return this.#refuse(this.#unavailable(error), ticket, hash);
    }
    const { id, name } = ticket;
    this.#ambient.log.info("command accepted", { id, name, ...author });
    this.counts.moved({ id, name, state: "accepted", ...author });
    this.#parts.changed();
    const later = new AnswerStream();
    void this.#carryOut(command, author, ticket, later).finally(() => later.end());
    return { answer, later };
  }

  async #carryOut(command: Read, author: Author, ticket: Ticket, answers: AnswerStream): Promise<void> {
    const { definition, envelope } = command;
    let end: End;
    try {
      if (definition.class === "once") this.#parts.ledger.begin(envelope.id);
      end = await this.#executions.run(command, author, (progress) => answers.push(this.#response(progress, ticket)));
    } catch (error) {
      // That it may have begun could not be written down, so it was not begun.
      end = { ...this.#unavailable(error), state: "failed" };
    }
    // What ends because the agent ends is judged by the next process, as after a power cut.
    if (end === "the next process" || (this.#executions.isStopping && end.state !== "succeeded")) return;
    answers.push(this.#settle(end, author, ticket));
  }

  #settle(outcome: Outcome, author: Author, ticket: Ticket): Answer {
    const { id, name, origin } = ticket;
    const { state, code } = outcome;
    const answer = this.#response(outcome, ticket);
    this.#ambient.log.info("command ended", { id, name, state, code, by: author.by });
    this.counts.answered(name, outcome);
    this.counts.moved({ id, name, state, ...author });
    // Who asked on the board itself is told on the connection that is open, or not at all.
    this.#parts.ledger.settle(id, answer.body, origin === "local");
    this.#parts.changed();
    return answer;
  }

  /** Reads, and rehearsals of the rest: nothing is written down for them. */
  async #answer(command: Read, request: Request, ticket: Ticket, hash: string): Promise<Taken> {
    const { envelope } = command;
    const end = await this.#executions.run(command, authorOf(request, envelope), () => undefined);
    if (end === "the next process") throw new Error(`${ticket.name} was rehearsed and began`);
    const answer = this.#response(end, ticket);
    this.counts.answered(ticket.name, end);
    this.#recent.keep(ticket.id, { hash, answer: answer.body, lapses: ticket.lapses });
    return { answer };
  }

  /** Row 11: the same answer once more, and no second execution. */
  #replay({ answer, lapses }: Known, ticket: Ticket): Taken {
    this.counts.replayed();
    return { answer: this.#again({ ...answer, replayed: true }, { ...ticket, lapses }) };
  }

  #again(body: Answer["body"], { id, name, scope, lapses }: Ticket): Answer {
    const isTerminal = body.state !== "accepted" && body.state !== "running";
    return { id, name, scope, body, isTerminal, expirySeconds: answerExpiry(this.#parts.ledger.leftOf(lapses) / 1000) };
  }

  /** With a hash it is the command's end: the same bytes hear the same again. What lacks a signature may still get one. */
  #refuse(refusal: Refusal, ticket: Ticket, hash?: string): Taken {
    this.counts.rejected(refusal, ticket.name);
    const { body, ...answer } = this.#response(refusal, ticket);
    if (hash !== undefined && refusal.code !== 401)
      this.#recent.keepRefusal({ hash, answer: body, lapses: ticket.lapses });
    return { answer: { ...answer, body } };
  }

  #refuseEarly(refusal: Refusal, ticket: Ticket): Taken {
    const now = this.#ambient.clock.now();
    const [isTold, rates] = mayRefuse(this.#rates ?? freshRates(now), now);
    this.#rates = rates;
    const taken = this.#refuse(refusal, ticket);
    return isTold || ticket.origin === "local" ? taken : "no answer";
  }

  #ignored(why: string): Taken {
    this.counts.ignored(why);
    return "no answer";
  }

  #unavailable(error: unknown): Refusal {
    this.#ambient.log.warn("a command could not be written down", { error });
    return rejected(507, "journal-unavailable", error instanceof Error ? error.message : String(error));
  }

  #response(outcome: Outcome, { id, name, scope, since, lapses }: Ticket): Answer {
    const { board, site, clock, ledger } = this.#parts;
    return response(outcome, {
      ...{ id, name, scope, board, since },
      term: site.standing().term,
      clock: clock(),
      now: this.#ambient.clock.now(),
      timeLeft: ledger.leftOf(lapses) / 1000,
    });
  }

  /** A log that cannot be read or written at present is no reason to end the agent. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#ambient.log.warn("the log of commands cannot be looked after", { error });
    }
  }

  /** What the process before this one had accepted: answers that may not have left, and commands without an end. */
  #takeUp(signal: AbortSignal): void {
    const { ledger, levels, changed } = this.#parts;
    levels.begin();
    this.counts.begin(ledger.latest(5));
    changed();
    const since = this.#ambient.clock.now();
    const ticketOf = (row: CommandRow): Ticket => ({
      ...{ id: row.id, name: row.name, scope: scopeOf(row), origin: originOf(row), since },
      lapses: readLastingEnd(row.lapses),
    });
    for (const row of ledger.untold()) this.#leftovers.push(this.#again(readAnswer(row.answer), ticketOf(row)));
    for (const row of ledger.unsettled()) void this.#finish(row, ticketOf(row), signal);
  }

  async #finish(row: CommandRow, ticket: Ticket, signal: AbortSignal): Promise<void> {
    const { board, ledger } = this.#parts;
    const answers = ticket.origin === "mqtt" ? this.#leftovers : new AnswerStream();
    const fate = await fateOf(this.#ambient, row, { board, ledger, state: () => this.#state() }, signal);
    if (fate?.do === "answer") answers.push(this.#settle(fate.outcome, { by: row.author, reason: undefined }, ticket));
    if (fate?.do !== "carry out") return;
    const author = { by: row.author, reason: fate.command.envelope.reason };
    await this.#carryOut(fate.command, author, ticket, answers);
  }

  #state(): DeskState {
    const { board, site, controls, ledger, obstacle, rules } = this.#parts;
    return {
      board,
      ...ledger.moment(),
      ...rules(),
      obstacle,
      configVersion: controls.configVersion(),
      standing: site.standing(),
      running: this.#executions.running,
      isStopping: this.#executions.isStopping,
      counter: (key) => ledger.counter(key),
    };
  }
}

/** The same bytes on another topic of this board are another command. */
const hashOf = ({ scope, payload }: Request): string =>
  createHash("sha256").update(`${scope}\0`).update(payload).digest("hex");

function authorOf({ origin, author, signature }: Request, { by, reason }: Envelope): Author {
  if (origin === "local") return { by: author ?? "local:unknown", reason };
  // Who sits at a board is told by that board alone.
  const named = by ?? signature?.kid ?? "unknown";
  return { by: named.startsWith("local:") ? `fleet:${named}` : named, reason };
}
