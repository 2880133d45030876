import type { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import type { CommandTaker } from "../commands/desk/desk.ts";
import type { Answer, SignedMessage } from "../commands/desk/request.ts";
import type { Incoming, MqttMessage } from "./mqtt/link.ts";
import {
  allowedResponseTopic,
  type CommandTopic,
  type FleetIdentity,
  filtersOf,
  parseCommandTopic,
  resultTopic,
} from "./mqtt/topics.ts";
import type { States } from "./reporting/states.ts";
import type { GateDecision, SiteCommandGate } from "./site-command-gate.ts";

export interface IntakeDeps {
  readonly identity: FleetIdentity;
  readonly desk: CommandTaker;
  readonly outbox: Outbox;
  /** Receives answers that cannot be written to disk. */
  readonly states: States;
  readonly bootId: string;
  readonly standing: SiteControls["standing"];
  readonly gate: SiteCommandGate;
  /** Receives the desired settings, a retained message, which the broker sends again on the next connection. */
  readonly desired: (message: SignedMessage) => void;
  /** Called after an answer was added to the outbox. */
  readonly added: () => void;
}

/** Where the answers to a command are published. */
interface Place {
  readonly topic: string;
  readonly retain: boolean;
  /** The sender's correlation data, in base64. */
  readonly correlation: string | undefined;
}

/**
 * Ranks in the outbox: if it is full, refusals and answers to reads are dropped before the terminal answer of an accepted
 * command.
 */
const ranks = { progress: 0, reply: 1, end: 2 } as const;

/**
 * A message whose handling has failed this many times is acknowledged anyway, because each failure ends the connection.
 */
const maxTries = 3;

/** Maximum number of answers that are kept in memory while the disk cannot be written. */
const maxInMemory = 64;

/** Maximum length of correlation data, in bytes. It is stored with the answer; longer data is left out. */
const maxCorrelationLength = 1024;

const correlationOf = ({ correlation }: Incoming): string | undefined =>
  Buffer.byteLength(correlation ?? "", "base64") > maxCorrelationLength ? undefined : correlation;

function signatureIn({ userProperties }: Incoming): Pick<SignedMessage, "signature"> {
  const [sig, kid] = [userProperties.get("sig"), userProperties.get("kid")];
  return sig === undefined || kid === undefined ? {} : { signature: { sig, kid } };
}

/** A placeholder for the fields of a command whose topic cannot be parsed. */
const nameless = { origin: "mqtt", scope: "board", name: "", id: "" } as const;

/**
 * Receives messages from the broker: commands are passed to the desk, the desired settings to the FleetConfigRollout.
 */
export class Intake {
  readonly #ambient: Ambient;
  readonly #deps: IntakeDeps;
  readonly #tries = new Map<string, number>();
  readonly #answering = new Set<Promise<void>>();

  constructor(ambient: Ambient, deps: IntakeDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** Resolves when the message may be acknowledged. Rejects if the broker should deliver it again. */
  async receive(message: Incoming): Promise<void> {
    const { topic } = message;
    try {
      if (topic === filtersOf(this.#deps.identity).desired)
        this.#deps.desired({ topic, payload: message.payload, ...signatureIn(message) });
      else await this.#command(message);
      this.#tries.delete(topic);
    } catch (error) {
      const tries = (this.#tries.get(topic) ?? 0) + 1;
      this.#ambient.log.error("a message from the fleet could not be handled", { topic, tries, error });
      if (this.#tries.size > 100) this.#tries.clear();
      this.#tries.set(topic, tries);
      if (tries < maxTries) throw error;
    }
  }

  /** Stores answers to the commands that an earlier process left unfinished. */
  async leftover(signal: AbortSignal): Promise<void> {
    const { desk, identity, standing } = this.#deps;
    for await (const answer of desk.leftover(signal)) {
      // An unfinished site command may have been redelivered to the next leader, whose retained answer must not be
      // replaced.
      const isLast = answer.scope !== "site" || standing().isLeader || answer.body.state === "succeeded";
      this.#respond(
        answer,
        { topic: resultTopic(identity, answer), retain: isLast, correlation: undefined },
        ranks.end,
      );
    }
  }

  /** Resolves when all running commands have been answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#answering);
  }

  async #command(message: Incoming): Promise<void> {
    const { desk, identity, gate, standing } = this.#deps;
    const { topic, payload, retained, expirySeconds } = message;
    const found = parseCommandTopic(identity, topic);
    if (found === undefined) {
      // There is no topic to answer on (docs/interfaces.md#order-of-checks, row 3); the desk only counts the message.
      await desk.take({ ...nameless, topic, payload, retained, expirySeconds });
      return;
    }
    const decision = found.scope === "site" ? gate.decide(standing(), identity.board) : "take";
    if (decision === "ignore") {
      this.#ambient.log.info("a site command is ignored, because another board leads", { topic });
      return;
    }
    const taken = await desk.take({
      origin: "mqtt",
      ...found,
      topic,
      payload,
      retained,
      expirySeconds,
      isLate: decision === "late",
      ...(correlationOf(message) !== message.correlation && { asksTooMuch: true }),
      ...signatureIn(message),
    });
    if (taken === "no answer") return;
    const place = this.#placeOf(message, found, decision);
    this.#respond(taken.answer, place, taken.later ? ranks.progress : ranks.reply);
    if (taken.later) this.#follow(taken.later, place);
  }

  /**
   * Where to publish the answer. An answer on a response topic chosen by the sender is never retained. An answer to a
   * site command is retained only by the leader, because the broker may have queued the command for a previous leader,
   * and the answer of the leader that executed it must not be replaced.
   */
  #placeOf(message: Incoming, found: CommandTopic, decision: GateDecision): Place {
    const { identity, standing } = this.#deps;
    const { responseTopic } = message;
    const correlation = correlationOf(message);
    const wanted = responseTopic && allowedResponseTopic(identity, responseTopic);
    if (wanted) return { topic: wanted, retain: false, correlation };
    const retain = found.scope !== "site" || (standing().isLeader && decision === "take");
    return { topic: resultTopic(identity, found), retain, correlation };
  }

  #follow(answers: AsyncIterable<Answer>, place: Place): void {
    const all = async (): Promise<void> => {
      for await (const answer of answers) this.#respond(answer, place, answer.isTerminal ? ranks.end : ranks.progress);
    };
    const task = all()
      .catch((error: unknown) => this.#ambient.log.error("an answer to the fleet could not be stored", { error }))
      .finally(() => this.#answering.delete(task));
    this.#answering.add(task);
  }

  #respond(answer: Answer, { topic, retain, correlation }: Place, rank: number): void {
    const { outbox, bootId, desk, added } = this.#deps;
    const { body, expirySeconds, isTerminal } = answer;
    const code = typeof body.code === "number" ? String(body.code) : undefined;
    const ttl: Millis = expirySeconds * 1000;
    const message = { topic, payload: JSON.stringify(body), retain };
    try {
      outbox.respond(
        { ...message, properties: JSON.stringify({ code, correlation }), rank, ttl },
        { boot: bootId, mono: this.#ambient.clock.now().mono },
        () => {
          if (isTerminal) desk.markDelivered(answer);
        },
      );
    } catch (error) {
      this.#respondFromMemory({ ...message, expiry: ttl, code, correlation }, error);
    }
    added();
  }

  /**
   * Sends an answer from memory if it cannot be stored. This is done for answers to reads, and to commands that are
   * refused because nothing can be stored (docs/interfaces.md#order-of-checks, row 23).
   */
  #respondFromMemory(message: MqttMessage, error: unknown): void {
    const { states } = this.#deps;
    this.#ambient.log.debug("an answer is not stored", { topic: message.topic, error });
    if (states.size < maxInMemory) states.put({ ...message, isUnwritten: true });
  }
}
