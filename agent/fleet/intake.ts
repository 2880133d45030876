import type { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Millis } from "../base/clock.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import type { CommandTaker } from "../commands/desk/desk.ts";
import type { Answer } from "../commands/desk/request.ts";
import type { Incoming, Message } from "./link.ts";
import type { Admission, SiteCommandGate } from "./site-command-gate.ts";
import type { States } from "./states.ts";
import {
  allowedResponseTopic,
  type CommandTopic,
  filtersOf,
  type Identity,
  parseCommandTopic,
  resultTopic,
} from "./topics.ts";

export interface IntakeParts {
  readonly identity: Identity;
  /** Where commands are taken; there when the first one comes. */
  readonly desk: () => CommandTaker;
  readonly outbox: Outbox;
  /** For answers that the disk does not take. */
  readonly states: States;
  readonly bootId: string;
  readonly standing: SiteControls["standing"];
  readonly ear: SiteCommandGate;
  /** A configuration that the fleet desires. It is retained there, and sent again with the next connection. */
  readonly desired: (payload: Uint8Array) => void;
  /** There is one more answer to send. */
  readonly added: () => void;
}

/** Answers of a command are told where its sender asked for them. */
interface Place {
  readonly topic: string;
  readonly retain: boolean;
  readonly correlation: string | undefined;
}

/**
 * What goes last where there is no room for all answers: the end of a command that was accepted. Refusals and reads without
 * number must not cost it.
 */
const ranks = { progress: 0, reply: 1, end: 2 } as const;

/** A message that could not be taken so often is given up: it must not keep the link from ever standing. */
const mostTries = 3;

/** So many answers wait in memory where the disk takes none; a link that is up needs a few. */
const mostInMemory = 64;

/** What a sender wants to have back waits with the answer, on disk. */
const longestCorrelation = 1024;

const keptOf = ({ correlation }: Incoming): string | undefined =>
  Buffer.byteLength(correlation ?? "", "base64") > longestCorrelation ? undefined : correlation;

const nameless = { origin: "mqtt", scope: "board", name: "", id: "" } as const;

/** Takes what the broker delivers: commands to the desk, the desired configuration to its keeper. */
export class Intake {
  readonly #ambient: Ambient;
  readonly #parts: IntakeParts;
  readonly #tries = new Map<string, number>();
  readonly #answering = new Set<Promise<void>>();

  constructor(ambient: Ambient, parts: IntakeParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Resolves when the message is durable, or not wanted: it may be acknowledged then. Rejects: it is to come again. */
  async receive(message: Incoming): Promise<void> {
    const { topic } = message;
    try {
      if (topic === filtersOf(this.#parts.identity).desired) this.#parts.desired(message.payload);
      else await this.#command(message);
      this.#tries.delete(topic);
    } catch (error) {
      const tries = (this.#tries.get(topic) ?? 0) + 1;
      this.#ambient.log.error("a message of the fleet could not be taken", { topic, tries, error });
      if (this.#tries.size > 100) this.#tries.clear();
      this.#tries.set(topic, tries);
      if (tries < mostTries) throw error;
    }
  }

  /** Answers to commands of the process before this one. */
  async leftover(signal: AbortSignal): Promise<void> {
    const { desk, identity, standing } = this.#parts;
    for await (const answer of desk().leftover(signal)) {
      // What was not carried out to its end here may have been sent again, to the leader after us.
      const isLast = answer.scope !== "site" || standing().isLeader || answer.body.state === "succeeded";
      this.#tell(answer, { topic: resultTopic(identity, answer), retain: isLast, correlation: undefined }, ranks.end);
    }
  }

  /** Until what is under way has been answered, or the process ends first. */
  async settled(): Promise<void> {
    await Promise.all(this.#answering);
  }

  async #command(message: Incoming): Promise<void> {
    const { desk, identity, ear, standing } = this.#parts;
    const { topic, payload, retained, expirySeconds, userProperties } = message;
    const found = parseCommandTopic(identity, topic);
    if (found === undefined) {
      // There is no place to answer (docs/interfaces.md#order-of-checks, row 3); the desk counts it.
      await desk().take({ ...nameless, topic, payload, retained, expirySeconds });
      return;
    }
    const hearing = found.scope === "site" ? ear.hear(standing(), identity.board) : "take";
    if (hearing === "ignore") {
      this.#ambient.log.info("a command of the site is left to its leader", { topic });
      return;
    }
    const [sig, kid] = [userProperties.get("sig"), userProperties.get("kid")];
    const taken = await desk().take({
      origin: "mqtt",
      ...found,
      topic,
      payload,
      retained,
      expirySeconds,
      isLate: hearing === "late",
      ...(keptOf(message) !== message.correlation && { asksTooMuch: true }),
      ...(sig !== undefined && kid !== undefined && { signature: { sig, kid } }),
    });
    if (taken === "no answer") return;
    const place = this.#placeOf(message, found, hearing);
    this.#tell(taken.answer, place, taken.later ? ranks.progress : ranks.reply);
    if (taken.later) this.#follow(taken.later, place);
  }

  /**
   * A place of the sender's own choice is his alone: nothing is retained there. Nor is what a board says to a command of the
   * site that it does not lead: the broker may have kept it for a leader of the past, and the answer of the one who
   * carried it out must stand.
   */
  #placeOf(message: Incoming, found: CommandTopic, hearing: Admission): Place {
    const { identity, standing } = this.#parts;
    const { responseTopic } = message;
    const correlation = keptOf(message);
    const wanted = responseTopic && allowedResponseTopic(identity, responseTopic);
    if (wanted) return { topic: wanted, retain: false, correlation };
    const retain = found.scope !== "site" || (standing().isLeader && hearing === "take");
    return { topic: resultTopic(identity, found), retain, correlation };
  }

  #follow(answers: AsyncIterable<Answer>, place: Place): void {
    const all = async (): Promise<void> => {
      for await (const answer of answers) this.#tell(answer, place, answer.isTerminal ? ranks.end : ranks.progress);
    };
    const task = all()
      .catch((error: unknown) => this.#ambient.log.error("an answer to the fleet could not be kept", { error }))
      .finally(() => this.#answering.delete(task));
    this.#answering.add(task);
  }

  #tell(answer: Answer, { topic, retain, correlation }: Place, rank: number): void {
    const { outbox, bootId, desk, added } = this.#parts;
    const { body, expirySeconds, isTerminal } = answer;
    const code = typeof body.code === "number" ? String(body.code) : undefined;
    const ttl: Millis = expirySeconds * 1000;
    const message = { topic, payload: JSON.stringify(body), retain };
    try {
      outbox.respond(
        { ...message, properties: JSON.stringify({ code, correlation }), rank, ttl },
        { boot: bootId, mono: this.#ambient.clock.now().mono },
        () => {
          if (isTerminal) desk().told(answer);
        },
      );
    } catch (error) {
      this.#tellUnwritten({ ...message, expiry: ttl, code, correlation }, error);
    }
    added();
  }

  /**
   * What was refused because nothing can be written down has to be told all the same, and reads go on
   * (docs/interfaces.md#order-of-checks, row 23).
   */
  #tellUnwritten(message: Message, error: unknown): void {
    const { states } = this.#parts;
    this.#ambient.log.debug("an answer is not written down", { topic: message.topic, error });
    if (states.size < mostInMemory) states.put({ ...message, isUnwritten: true });
  }
}
