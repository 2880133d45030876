import type { CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import { type Millis, sleep } from "../../base/clock.ts";
import { readLastingEnd } from "../../base/time/lasting-end.ts";
import { AnswerStream } from "./answer-stream.ts";
import type { DeskState, Read } from "./checks.ts";
import type { Author } from "./controls.ts";
import type { DeskCounts } from "./desk-counts.ts";
import type { End, Executions } from "./executions.ts";
import type { Ledger } from "./ledger.ts";
import type { LogLevels } from "./log-levels.ts";
import type { Refusal } from "./refusal.ts";
import type { Answer, CommandRequest, DeskReply } from "./request.ts";
import type { CommandOutcome, Responses, Ticket } from "./responses.ts";
import { fateOf, originOf, scopeOf } from "./resume.ts";
import { fingerprintOf } from "./signature.ts";

export interface AcceptedCommandsDeps {
  readonly board: string;
  readonly ledger: Ledger;
  readonly levels: LogLevels;
  readonly executions: Executions;
  readonly responses: Responses;
  readonly counts: DeskCounts;
  readonly state: () => DeskState;
  /** Why commands cannot currently be persisted; undefined if they can. */
  readonly obstacle: () => string | undefined;
  /** Called when the part of the status about commands changes. */
  readonly changed: () => void;
}

/** A received command with its author, hash and deadline. */
export interface Arrival {
  readonly request: CommandRequest;
  readonly author: Author;
  readonly ticket: Ticket;
  readonly hash: string;
}

const tidyPeriod: Millis = 60_000;

/**
 * Persists accepted commands, executes each once and answers it. Also finishes those that the previous process accepted
 * but did not answer.
 */
export class AcceptedCommands {
  readonly #ambient: Ambient;
  readonly #deps: AcceptedCommandsDeps;
  readonly #leftovers = new AnswerStream();
  #siteChanges = 0;

  constructor(ambient: Ambient, deps: AcceptedCommandsDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** Resumes the commands of the previous process, then prunes the log every minute until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, levels, executions, obstacle } = this.#deps;
    let isResumed = false;
    while (!signal.aborted) {
      this.#guarded(() => {
        // Commands are not resumed while nothing can be persisted: the next process would resume the same ones again.
        if (!isResumed && obstacle() === undefined) {
          this.#resume(signal);
          isResumed = true;
        }
        ledger.writeRest();
        ledger.forget();
      });
      await sleep(this.#ambient.clock, tidyPeriod, signal);
    }
    await executions.end();
    this.#guarded(() => levels.end());
    ledger.writeRest();
    this.#leftovers.end();
  }

  async *leftover(signal: AbortSignal): AsyncIterable<Answer> {
    signal.addEventListener("abort", () => this.#leftovers.end(), { once: true });
    yield* this.#leftovers;
  }

  /**
   * Persists the command and starts it. Once this returns an answer, the command is executed even if the process dies.
   */
  accept(command: Read, { request, author, ticket, hash }: Arrival): Exclude<DeskReply, "no answer"> | Refusal {
    const { envelope, signature } = command;
    const { ledger, responses, counts, changed } = this.#deps;
    const answer = responses.to({ state: "accepted", code: 202 }, ticket);
    const key = signature.is === "valid" ? fingerprintOf(signature.key.key) : undefined;
    try {
      ledger.admit({ request, envelope, by: author.by, hash, answer: answer.body, key });
    } catch (error) {
      return ledger.unavailable(error);
    }
    if (request.scope === "site") this.#siteChanges++;
    const { id, name } = ticket;
    this.#ambient.log.info("command accepted", { id, name, ...author });
    counts.moved({ id, name, state: "accepted", ...author });
    changed();
    const later = new AnswerStream();
    void this.#carryOut(command, author, ticket, later).finally(() => later.end());
    return { answer, later };
  }

  async #carryOut(command: Read, author: Author, ticket: Ticket, answers: AnswerStream): Promise<void> {
    const { definition, envelope } = command;
    const { ledger, executions, responses } = this.#deps;
    let end: End;
    try {
      if (definition.class === "once") ledger.begin(envelope.id);
      end = await executions.run(command, author, (progress) => answers.push(responses.to(progress, ticket)));
    } catch (error) {
      // The start could not be persisted, so the command was not started.
      end = { ...ledger.unavailable(error), state: "failed" };
    }
    // The next process decides about a command that the shutdown interrupted, as it would after a power cut.
    if (end === "the next process" || (executions.isStopping && end.state !== "succeeded")) return;
    answers.push(this.#settle(end, author, ticket));
  }

  #settle(outcome: CommandOutcome, author: Author, ticket: Ticket): Answer {
    const { id, name, origin } = ticket;
    const { state, code } = outcome;
    const { ledger, responses, counts, changed } = this.#deps;
    const answer = responses.to(outcome, ticket);
    this.#ambient.log.info("command ended", { id, name, state, code, by: author.by });
    counts.answered(name, outcome);
    counts.moved({ id, name, state, ...author });
    // A local caller receives the answer only on its open connection; it is never resent.
    ledger.settle(id, answer.body, origin === "local");
    changed();
    return answer;
  }

  /** Runs `work`. A failure to read or write the command log must not end the agent. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#ambient.log.warn("the command log cannot be read or written", { error });
    }
  }

  /** Sends answers that the previous process may not have sent, and finishes the commands that it left unfinished. */
  #resume(signal: AbortSignal): void {
    const { ledger, levels, responses, counts, changed } = this.#deps;
    levels.begin();
    counts.begin(ledger.latest(5));
    changed();
    const since = this.#ambient.clock.now();
    const ticketOf = (row: CommandRow): Ticket => ({
      ...{ id: row.id, name: row.name, scope: scopeOf(row), origin: originOf(row), since },
      deadline: readLastingEnd(row.lapses),
    });
    for (const row of ledger.undelivered()) this.#leftovers.push(responses.again(ledger.answerOf(row), ticketOf(row)));
    for (const row of ledger.unsettled()) void this.#finish(row, ticketOf(row), signal);
  }

  async #finish(row: CommandRow, ticket: Ticket, signal: AbortSignal): Promise<void> {
    const { board, ledger, state } = this.#deps;
    const answers = ticket.origin === "mqtt" ? this.#leftovers : new AnswerStream();
    const fate = await fateOf(
      this.#ambient,
      row,
      { board, ledger, state, siteChanges: () => this.#siteChanges },
      signal,
    );
    if (fate?.do === "answer") answers.push(this.#settle(fate.outcome, { by: row.author, reason: undefined }, ticket));
    if (fate?.do !== "carry out") return;
    const author = { by: row.author, reason: fate.command.envelope.reason };
    await this.#carryOut(fate.command, author, ticket, answers);
  }
}
