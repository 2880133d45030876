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
  /** Receives commands; set before the first one arrives. */
  readonly desk: () => CommandTaker;
  readonly outbox: Outbox;
  /** Takes answers that the disk refuses. */
  readonly states: States;
  readonly bootId: string;
  readonly standing: SiteControls["standing"];
  readonly ear: SiteCommandGate;
  /** Receives the desired settings. The topic is retained, so the broker sends them again on the next connection. */
  readonly desired: (payload: Uint8Array) => void;
  /** Called after an answer was added to the outbox. */
  readonly added: () => void;
}

/** Where the answers to a command are published. */
interface Place {
  readonly topic: string;
  readonly retain: boolean;
  readonly correlation: string | undefined;
}

/**
 * Priority of answers when the outbox is full: refusals and reads must not displace the terminal answer of an accepted
 * command.
 */
const ranks = { progress: 0, reply: 1, end: 2 } as const;

/** A message that fails this often is acknowledged, or it would end every connection. */
const mostTries = 3;

/** Bound on answers in memory while the disk takes none; a working link needs only a few. */
const mostInMemory = 64;

/** Correlation data is stored with the answer, so it is limited. */
const longestCorrelation = 1024;

const keptOf = ({ correlation }: Incoming): string | undefined =>
  Buffer.byteLength(correlation ?? "", "base64") > longestCorrelation ? undefined : correlation;

const nameless = { origin: "mqtt", scope: "board", name: "", id: "" } as const;

/** Receives messages from the broker: commands go to the desk, the desired settings to the ConfigKeeper. */
export class Intake {
  readonly #ambient: Ambient;
  readonly #parts: IntakeParts;
  readonly #tries = new Map<string, number>();
  readonly #answering = new Set<Promise<void>>();

  constructor(ambient: Ambient, parts: IntakeParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Resolves when the message may be acknowledged: durable or not wanted. Rejects to have it delivered again. */
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

  /** Publishes answers to commands of the previous process. */
  async leftover(signal: AbortSignal): Promise<void> {
    const { desk, identity, standing } = this.#parts;
    for await (const answer of desk().leftover(signal)) {
      // An unfinished site command may have been sent again, to the next leader, whose answer must stay retained.
      const isLast = answer.scope !== "site" || standing().isLeader || answer.body.state === "succeeded";
      this.#tell(answer, { topic: resultTopic(identity, answer), retain: isLast, correlation: undefined }, ranks.end);
    }
  }

  /** Resolves when all running commands have been answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#answering);
  }

  async #command(message: Incoming): Promise<void> {
    const { desk, identity, ear, standing } = this.#parts;
    const { topic, payload, retained, expirySeconds, userProperties } = message;
    const found = parseCommandTopic(identity, topic);
    if (found === undefined) {
      // No topic to answer on (docs/interfaces.md#order-of-checks, row 3); the desk counts it.
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
   * Never retain on a response topic chosen by the sender. Nor retain answers to site commands from a board that does
   * not lead: the broker may have queued the command for a former leader, and the answer of the leader that executed it
   * must stay.
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
   * A command refused because nothing can be persisted still gets its answer, as do reads
   * (docs/interfaces.md#order-of-checks, row 23).
   */
  #tellUnwritten(message: Message, error: unknown): void {
    const { states } = this.#parts;
    this.#ambient.log.debug("an answer is not written down", { topic: message.topic, error });
    if (states.size < mostInMemory) states.put({ ...message, isUnwritten: true });
  }
}
