import { createHash } from "node:crypto";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed } from "../../base/clock.ts";
import { sentenceOf } from "../../base/errors.ts";
import { AcceptedCommands, type Arrival } from "./accepted-commands.ts";
import type { BoardControls } from "./board-controls.ts";
import {
  type DeskState,
  incomplete,
  isMutating,
  judge,
  judgeCounted,
  type Read,
  type SiteNumber,
  siteNumber,
} from "./checks.ts";
import type { Author, SiteControls, SiteCounters } from "./controls.ts";
import { DeskCounts } from "./desk-counts.ts";
import { type Envelope, idPattern, namePattern, parseEnvelope } from "./envelope.ts";
import { Executions } from "./executions.ts";
import type { Known, Ledger } from "./ledger.ts";
import type { LogLevels } from "./log-levels.ts";
import { isDisabled, type Policy } from "./policy.ts";
import { admit, freshRates, mayRefuse, type RateState } from "./rate-limits.ts";
import { RecentAnswers } from "./recent-answers.ts";
import { correlationTooLong, type Refusal, rejected } from "./refusal.ts";
import { commands } from "./registry.ts";
import type { Answer, Request, Taken } from "./request.ts";
import { Responses, type Ticket } from "./responses.ts";
import type { Trust } from "./trust.ts";

/** Receives commands from a transport. */
export interface CommandTaker {
  /** Resolves once the message may be acknowledged: the command is durable or need not be. Never rejects. */
  take(request: Request): Promise<Taken>;
  /** Answers to commands of the previous process. The fleet link publishes them like those of `take`. */
  leftover(signal: AbortSignal): AsyncIterable<Answer>;
  /**
   * Records that a terminal answer is in the outbox, so the next process need not send it. Joins a state.db
   * transaction.
   */
  told(answer: Answer): void;
  /** Names of the commands allowed here, for the birth message. */
  known(): readonly string[];
}

export interface DeskParts {
  readonly board: string;
  readonly ledger: Ledger;
  readonly levels: LogLevels;
  readonly site: SiteControls;
  readonly counters: SiteCounters;
  readonly controls: BoardControls;
  readonly clock: () => "synced" | "unsynced";
  /** Read for each command, so that a newly installed key counts at once. */
  readonly rules: () => { readonly trust: Trust; readonly policy: Policy };
  /** Why nothing can be persisted at present; undefined: it can. */
  readonly obstacle: () => string | undefined;
  /** Called when the part of the status about commands changes. */
  readonly changed: () => void;
}

/**
 * Receives commands from the fleet and from the board itself, checks them, and refuses, answers or accepts each
 * (docs/interfaces.md#answers, #order-of-checks).
 */
export class CommandDesk implements CommandTaker {
  readonly counts: DeskCounts;
  readonly #ambient: Ambient;
  readonly #parts: DeskParts;
  readonly #executions: Executions;
  readonly #responses: Responses;
  readonly #accepted: AcceptedCommands;
  readonly #recent = new RecentAnswers();
  /** Commands being admitted, by id: after a reconnect the broker may deliver them again. */
  readonly #admitting = new Map<string, Promise<unknown>>();
  #rates: RateState | undefined;

  constructor(ambient: Ambient, parts: DeskParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.counts = new DeskCounts(ambient);
    const { site, controls, levels, rules } = parts;
    this.#responses = new Responses(ambient, parts);
    this.#executions = new Executions(ambient, {
      site,
      board: controls,
      desk: {
        cancel: (id, dryRun) => this.#executions.cancel(id, dryRun),
        setLogLevel: (order) => levels.set(order),
        mayUploadTo: (host) => rules().policy.uploadHosts.includes(host),
      },
    });
    this.#accepted = new AcceptedCommands(ambient, {
      ...parts,
      executions: this.#executions,
      responses: this.#responses,
      counts: this.counts,
      state: () => this.#state(),
    });
  }

  known(): readonly string[] {
    const { policy } = this.#parts.rules();
    return [...commands.keys()].filter((name) => !isDisabled(policy, name));
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#accepted.run(signal);
  }

  leftover(signal: AbortSignal): AsyncIterable<Answer> {
    return this.#accepted.leftover(signal);
  }

  told({ id, isTerminal }: Answer): void {
    if (isTerminal) this.#parts.ledger.told(id);
  }

  async take(request: Request): Promise<Taken> {
    const { id, name, scope, origin, payload, retained } = request;
    const { ledger } = this.#parts;
    // Rows 3 and 4 of docs/interfaces.md#order-of-checks: no trustworthy topic to answer on.
    if (!idPattern.test(id) || !namePattern.test(name)) return this.#ignored("topic");
    const early: Ticket = { id, name, scope, origin, since: this.#ambient.clock.now(), lapses: ledger.endOf(request) };
    // Checked before row 2: clearing a retained command sends an empty retained message.
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
      const underWay = this.#admitting.get(id);
      // Await only for a copy: any other await would let two copies in one packet both find nothing being admitted.
      if (underWay) await underWay;
      const known = this.#recent.find(id, hash) ?? ledger.find(id);
      // A restarted broker may redeliver an expired message without its expiry; a known command keeps its answer.
      if (refusal && known?.hash !== hash) return this.#refuseEarly(refusal, early);
      const limited = this.#limit(request, envelope, known, ticket);
      if (limited) return limited;
      if (known?.hash === hash) return this.#replay(known, ticket);
      if (known) return this.#refuse(rejected(409, "id-reused", "this id was another command's"), ticket);
      const judged = judge(request, envelope, this.#state());
      if ("error" in judged) return this.#refuse(judged, ticket, hash);
      const arrival = { request, author: authorOf(request, envelope), ticket, hash };
      const isWritten = isMutating(judged.definition) && envelope.dryRun !== true;
      if (!isWritten) return await this.#answer(judged, arrival);
      const admitted = this.#admit(judged, arrival);
      this.#admitting.set(id, admitted);
      return await admitted.finally(() => this.#admitting.delete(id));
    } catch (error) {
      // The log cannot be read.
      return this.#refuse(ledger.unavailable(error), ticket);
    }
  }

  /**
   * Before a signed site command is accepted its counter is written to the site's Lease, where every later leader reads
   * it. A command that fails or is refused after that has used the counter up without effect. Nothing is awaited
   * between the last check and the acceptance.
   */
  async #admit(command: Read, arrival: Arrival): Promise<Taken> {
    const { ticket, hash } = arrival;
    const number = siteNumber(command);
    const refusal = number && ((await this.#count(number)) ?? this.#judgeCounted(command, ticket));
    if (refusal) return this.#refuse(refusal, ticket, hash);
    const accepted = this.#accepted.accept(command, arrival);
    return "error" in accepted ? this.#refuse(accepted, ticket, hash) : accepted;
  }

  async #count({ key, counter }: SiteNumber): Promise<Refusal | undefined> {
    try {
      await this.#parts.counters.use(key, counter);
      return undefined;
    } catch (error) {
      return rejected(503, "not-written", `its number could not be written on the site's Lease: ${sentenceOf(error)}`);
    }
  }

  #judgeCounted(command: Read, { since }: Ticket): Refusal | undefined {
    const { timeLeft } = command;
    const waited = elapsed(since, this.#ambient.clock.now());
    return judgeCounted(
      { ...command, timeLeft: timeLeft === undefined ? undefined : timeLeft - waited },
      this.#state(),
    );
  }

  /** Row 10. A command accepted before is never answered with a refusal. */
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

  /** Answers reads and dry runs; nothing is persisted for them. */
  async #answer(command: Read, { author, ticket, hash }: Arrival): Promise<Taken> {
    const end = await this.#executions.run(command, author, () => undefined);
    if (end === "the next process") throw new Error(`${ticket.name} was rehearsed and began`);
    const answer = this.#responses.to(end, ticket);
    this.counts.answered(ticket.name, end);
    this.#recent.keep(ticket.id, { hash, answer: answer.body, lapses: ticket.lapses });
    return { answer };
  }

  /** Row 11 of docs/interfaces.md#order-of-checks: repeats the answer without executing again. */
  #replay({ answer, lapses }: Known, ticket: Ticket): Taken {
    this.counts.replayed();
    return { answer: this.#responses.again({ ...answer, replayed: true }, { ...ticket, lapses }) };
  }

  /**
   * With a hash the refusal is final: the same bytes get the same answer. 401 is not kept, as the same command may
   * arrive signed later.
   */
  #refuse(refusal: Refusal, ticket: Ticket, hash?: string): Taken {
    this.counts.rejected(refusal, ticket.name);
    const answer = this.#responses.to(refusal, ticket);
    if (hash !== undefined && refusal.code !== 401)
      this.#recent.keepRefusal({ hash, answer: answer.body, lapses: ticket.lapses });
    return { answer };
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

  #state(): DeskState {
    const { board, site, counters, controls, ledger, obstacle, rules } = this.#parts;
    return {
      board,
      ...ledger.moment(),
      ...rules(),
      obstacle,
      configVersion: controls.configVersion(),
      standing: site.standing(),
      running: this.#executions.running,
      isStopping: this.#executions.isStopping,
      counter: (key, scope) => {
        const seen = [ledger.counter(key), scope === "site" ? counters.highest(key) : undefined];
        const known = seen.filter((counter) => counter !== undefined);
        return known.length === 0 ? undefined : Math.max(...known);
      },
    };
  }
}

/** The scope is included: the same bytes on another topic of this board are another command. */
const hashOf = ({ scope, payload }: Request): string =>
  createHash("sha256").update(`${scope}\0`).update(payload).digest("hex");

function authorOf({ origin, author, signature }: Request, { by, reason }: Envelope): Author {
  if (origin === "local") return { by: author ?? "local:unknown", reason };
  // "local:" is reserved for authors that the board itself has identified.
  const named = by ?? signature?.kid ?? "unknown";
  return { by: named.startsWith("local:") ? `fleet:${named}` : named, reason };
}
