import { createHash } from "node:crypto";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed } from "../../base/clock.ts";
import { sentenceOf } from "../../base/errors.ts";
import { AcceptedCommands, type Arrival } from "./accepted-commands.ts";
import type { BoardControls } from "./board-controls.ts";
import {
  type DeskState,
  incomplete,
  isWritten,
  judge,
  judgeCounted,
  type Read,
  type SiteCounter,
  siteCounter,
  type Verified,
} from "./checks.ts";
import type { Author, CommandCounters, SiteControls } from "./controls.ts";
import { DeskCounts } from "./desk-counts.ts";
import { type Envelope, idPattern, namePattern, parseEnvelope } from "./envelope.ts";
import { Executions } from "./executions.ts";
import type { KnownCommand, Ledger } from "./ledger.ts";
import { CommandLimits, type Limited } from "./limits.ts";
import type { LogLevels } from "./log-levels.ts";
import type { OwnerPolicy } from "./policy.ts";
import { RecentAnswers } from "./recent-answers.ts";
import { correlationTooLong, type Refusal, rejection } from "./refusal.ts";
import type { Answer, CommandRequest, DeskReply } from "./request.ts";
import { Responses, type Ticket } from "./responses.ts";
import type { Trust } from "./trust.ts";

/** Receives commands from a transport. */
export interface CommandTaker {
  /**
   * Resolves once the message may be acknowledged, because the command is persisted or need not be. Never rejects.
   */
  take(request: CommandRequest): Promise<DeskReply>;
  /** Answers to commands that the previous process accepted. The fleet link publishes them like those of `take`. */
  leftover(signal: AbortSignal): AsyncIterable<Answer>;
  /**
   * Records that a terminal answer is in the outbox, so that the next process does not send it again. Joins the running
   * transaction of state.db.
   */
  markDelivered(answer: Answer): void;
}

export interface CommandDeskDeps {
  readonly board: string;
  readonly ledger: Ledger;
  readonly levels: LogLevels;
  readonly site: SiteControls;
  readonly counters: CommandCounters;
  readonly controls: BoardControls;
  readonly clock: () => "synced" | "unsynced";
  /** Called for each command, so that a newly installed key takes effect immediately. */
  readonly rules: () => { readonly trust: Trust; readonly policy: OwnerPolicy };
  /** Why commands cannot currently be persisted; undefined if they can. */
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
  readonly #deps: CommandDeskDeps;
  readonly #executions: Executions;
  readonly #responses: Responses;
  readonly #accepted: AcceptedCommands;
  readonly #recent = new RecentAnswers();
  /** Commands being admitted, by id; needed because the broker may deliver a second copy after a reconnect. */
  readonly #admitting = new Map<string, Promise<unknown>>();
  readonly #limits: CommandLimits;

  constructor(ambient: Ambient, deps: CommandDeskDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.counts = new DeskCounts(ambient);
    this.#limits = new CommandLimits(ambient.clock);
    const { site, controls, levels, rules } = deps;
    this.#responses = new Responses(ambient, deps);
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
      ...deps,
      executions: this.#executions,
      responses: this.#responses,
      counts: this.counts,
      state: () => this.#state(),
    });
  }

  /** Ids of commands whose stored answer could not be read by this process. */
  get damaged(): ReadonlySet<string> {
    return this.#deps.ledger.damaged;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#accepted.run(signal);
  }

  leftover(signal: AbortSignal): AsyncIterable<Answer> {
    return this.#accepted.leftover(signal);
  }

  markDelivered({ id, isTerminal }: Answer): void {
    if (isTerminal) this.#deps.ledger.markDelivered(id);
  }

  async take(request: CommandRequest): Promise<DeskReply> {
    const { id, name, scope, origin, payload, retained } = request;
    const { ledger } = this.#deps;
    // Rows 3 and 4 of docs/interfaces.md#order-of-checks: no answer, because the topic cannot be trusted.
    if (!idPattern.test(id) || !namePattern.test(name)) return this.#ignored("topic");
    const early: Ticket = {
      id,
      name,
      scope,
      origin,
      since: this.#ambient.clock.now(),
      deadline: ledger.endOf(request),
    };
    // Before retained messages are refused, because clearing a retained command sends an empty retained message.
    if (payload.length === 0) return this.#ignored("empty");
    if (retained)
      return this.#refuseEarly(
        rejection(400, "retained-command", "commands must not be sent as retained messages"),
        early,
      );
    if (request.asksTooMuch) return this.#refuseEarly(correlationTooLong, early);
    const read = parseEnvelope(payload, request);
    if ("refusal" in read) return this.#refuseEarly(read.refusal, early);
    const { envelope } = read;
    const refusal = incomplete(request, envelope);
    const hash = hashOf(request);
    const ticket = { ...early, deadline: ledger.endOf(request, envelope.exp) };
    try {
      const underWay = this.#admitting.get(id);
      // Nothing else is awaited before the command is in #admitting, because otherwise two copies in one packet would
      // both be admitted.
      if (underWay) await underWay;
      const known = this.#recent.find(id, hash) ?? ledger.find(id);
      // A restarted broker may redeliver a message without its expiry; a command that was already answered keeps its
      // answer.
      if (refusal && known?.hash !== hash) return this.#refuseEarly(refusal, early);
      if (known?.hash === hash) return this.#replay(known, ticket);
      const checked = this.#judge(request, envelope, known);
      if ("refusal" in checked) {
        const taken = this.#refuse(checked.refusal, ticket);
        return checked.isAnswered ? taken : "no answer";
      }
      const { judged } = checked;
      if ("error" in judged) return this.#refuse(judged, ticket, known ? undefined : hash);
      const arrival = { request, author: authorOf(request, envelope), ticket, hash };
      if (!isWritten(judged.definition, envelope)) return await this.#answer(judged, arrival);
      const admitted = this.#admit(judged, arrival);
      this.#admitting.set(id, admitted);
      return await admitted.finally(() => this.#admitting.delete(id));
    } catch (error) {
      // The log cannot be read.
      return this.#refuse(ledger.unavailable(error), ticket);
    }
  }

  /**
   * Before a signed site command is accepted, its counter is written to the site's Lease, where every later leader
   * reads it. If the command then fails or is refused, its counter is used up all the same. Nothing is awaited between
   * the last check and the acceptance.
   */
  async #admit(command: Read, arrival: Arrival): Promise<DeskReply> {
    const { ticket, hash } = arrival;
    const counter = siteCounter(command);
    const refusal = counter && ((await this.#useUp(counter)) ?? this.#judgeCounted(command, ticket));
    if (refusal) return this.#refuse(refusal, ticket, hash);
    const accepted = this.#accepted.accept(command, arrival);
    return "error" in accepted ? this.#refuse(accepted, ticket, hash) : accepted;
  }

  async #useUp({ key, counter }: SiteCounter): Promise<Refusal | undefined> {
    try {
      await this.#deps.counters.use(key, counter);
      return undefined;
    } catch (error) {
      const why = `its counter (ctr) could not be written to the site's Lease: ${sentenceOf(error)}`;
      return rejection(503, "not-written", `the command was not accepted: ${why}`);
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

  /**
   * Rows 10 and 12 to 24 of docs/interfaces.md#order-of-checks. For a signed change, row 10 comes last.
   */
  #judge(
    request: CommandRequest,
    envelope: Envelope,
    known: KnownCommand | undefined,
  ): Limited | { readonly judged: Read | Refusal } {
    const state = this.#state();
    const judged = (signature?: Verified) => (known ? idReused : judge(request, envelope, state, signature));
    if (request.origin === "local") return { judged: judged() };
    const signature = this.#limits.signatureOf(request, envelope, state.trust);
    if (signature && "refusal" in signature) return signature;
    if (signature?.is === "valid") {
      const found = judged(signature);
      return this.#limits.ofSigned(found, signature.key) ?? { judged: found };
    }
    const limited = this.#limits.ofUnsigned(authorOf(request, envelope).by, envelope);
    return limited ? { ...limited, isAnswered: limited.isAnswered && !known } : { judged: judged(signature) };
  }

  /** Answers reads and dry runs; persists nothing. */
  async #answer(command: Read, { author, ticket, hash }: Arrival): Promise<DeskReply> {
    const end = await this.#executions.run(command, author, () => undefined);
    if (end === "the next process") throw new Error(`the dry run of ${ticket.name} restarts the agent`);
    const answer = this.#responses.to(end, ticket);
    this.counts.answered(ticket.name, end, command.envelope.dryRun === true && command.definition.class !== "read");
    this.#recent.keep(ticket.id, { hash, answer: answer.body, deadline: ticket.deadline });
    return { answer };
  }

  /** Row 11 of docs/interfaces.md#order-of-checks: repeats the answer without executing the command again. */
  #replay({ answer, deadline }: KnownCommand, ticket: Ticket): DeskReply {
    this.counts.replayed();
    if (ticket.origin !== "local" && !this.#limits.mayRepeat()) return "no answer";
    const replayed = answer && { ...answer, replayed: true };
    return { answer: this.#responses.again(replayed, { ...ticket, deadline }) };
  }

  /**
   * With a hash, the refusal is kept, so that a copy of the command gets the same answer. A 401 is not kept: the same
   * bytes may arrive again with a valid signature.
   */
  #refuse(refusal: Refusal, ticket: Ticket, hash?: string): DeskReply {
    this.counts.recordRejection(refusal, ticket.name);
    const answer = this.#responses.to(refusal, ticket);
    if (hash !== undefined && refusal.code !== 401)
      this.#recent.keep(ticket.id, { hash, answer: answer.body, deadline: ticket.deadline });
    return { answer };
  }

  /** Refuses a command that could not be read; such refusals share one rate limit. */
  #refuseEarly(refusal: Refusal, ticket: Ticket): DeskReply {
    const isDelivered = this.#limits.mayRefuse();
    const taken = this.#refuse(refusal, ticket);
    return isDelivered || ticket.origin === "local" ? taken : "no answer";
  }

  #ignored(why: string): DeskReply {
    this.counts.ignored(why);
    return "no answer";
  }

  #state(): DeskState {
    const { board, site, counters, controls, ledger, obstacle, rules } = this.#deps;
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
        const ofSite = scope === "site" ? counters.highest(key) : undefined;
        const used = [ledger.counter(key), ofSite].filter((counter) => counter !== undefined);
        return used.length === 0 ? undefined : Math.max(...used);
      },
    };
  }
}

const idReused = rejection(409, "id-reused", "this id belongs to another command");

/**
 * The hash that identifies a command. It includes the scope, because the same bytes on another topic of this board are
 * a different command.
 */
const hashOf = ({ scope, payload }: CommandRequest): string =>
  createHash("sha256").update(`${scope}\0`).update(payload).digest("hex");

function authorOf({ origin, author, signature }: CommandRequest, { by, reason }: Envelope): Author {
  if (origin === "local") return { by: author ?? "local:unknown", reason };
  // The prefix "local:" is reserved for authors that the board itself has identified.
  const named = by ?? signature?.kid ?? "unknown";
  return { by: named.startsWith("local:") ? `fleet:${named}` : named, reason };
}
