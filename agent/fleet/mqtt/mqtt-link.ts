import type { ISubackPacket, Packet } from "mqtt-packet";
import type { Clock, Millis } from "../../base/clock.ts";
import { brokerSocket } from "./broker-socket.ts";
import {
  type BrokerLink,
  LinkError,
  type MqttMessage,
  type OpenLink,
  PublishError,
  type Subscription,
} from "./link.ts";
import { endOf, olderProtocol, openingFailure, reasonOf, silentEnd } from "./link-failure.ts";
import { MqttClient } from "./mqtt-client.ts";
import { incomingOf, publishOptionsOf, sizeOf } from "./mqtt-messages.ts";
import { inTurn, optionsOf } from "./mqtt-options.ts";
import { ReadDelay } from "./read-delay.ts";

/**
 * Maximum number of unacknowledged messages, even if the broker allows more, because each is on the heap as well as on
 * disk.
 */
const maxInFlight = 4;
/** Remaining length, in bytes, of the smallest CONNACK of MQTT 5, which has a field for properties. */
const minAnswer = 3;
/** Time limit for each acknowledgement, because a faulty broker may respond to pings but to nothing else. */
const answerLimit: Millis = 30_000;
/**
 * Maximum number of topic aliases. Limited because each keeps a topic on the heap, some brokers allow 65535, and few
 * topics recur.
 */
const maxAliases = 16;
/** SUBACK reason codes of this value and above are failures. */
const firstFailure = 0x80;

/** Opens connections with MQTT.js. Each client serves one connection and never reconnects. */
export const mqttLinks =
  (clock: Clock): OpenLink =>
  (opening, signal) =>
    new Promise((resolve, reject) => {
      const where = opening.url.host;
      if (signal.aborted) {
        reject(stopped());
        return;
      }
      const unread = new ReadDelay(clock);
      const tooLarge = (): void => {
        failure ??= new LinkError("protocol", `the broker ${where} sent a packet larger than the agreed maximum`);
      };
      const client = new MqttClient(() => brokerSocket(opening, tooLarge), optionsOf(opening, unread));
      const link = new MqttLink(clock, client, where);
      let failure: unknown;
      let isUp = false;
      let disconnect: number | undefined;
      const fail = (error: unknown): void => {
        failure ??= error;
        cut(client);
      };
      const giveUp = (): void => fail(signal.reason instanceof LinkError ? signal.reason : stopped());
      signal.addEventListener("abort", giveUp, { once: true });
      // Stays registered to the end, because an unhandled error event would end the process. Every error ends the
      // connection, because otherwise the library would carry on, and the broker would not redeliver an unacknowledged
      // message.
      client.on("error", fail);
      client.onKeepaliveTimeout = () => fail(new LinkError("lost", `the broker ${where} no longer responds`));
      // Runs before the library reads the packet.
      client.on("packetreceive", allowFewerAliases);
      // Messages at QoS 1 and 2 have already been handled: see optionsOf.
      client.handleMessage = (packet, taken) => {
        if (packet.qos > 0) taken();
        else
          inTurn(opening.receive, incomingOf(packet, unread)).then(
            () => taken(),
            // Errors are ignored, because messages at QoS 0 are not redelivered.
            () => taken(),
          );
      };
      client.on("disconnect", ({ reasonCode }) => {
        disconnect = reasonCode ?? 0;
      });
      client.on("connect", ({ sessionPresent, properties, length = 0 }) => {
        if (length < minAnswer) {
          fail(olderProtocol(where));
          return;
        }
        isUp = true;
        signal.removeEventListener("abort", giveUp);
        link.open(sessionPresent, properties?.maximumPacketSize, properties?.receiveMaximum);
        resolve(link);
      });
      client.on("close", () => {
        signal.removeEventListener("abort", giveUp);
        unread.end();
        if (isUp) link.end(endOf(where, failure, disconnect));
        else if (failure instanceof LinkError) reject(failure);
        else reject(failure === undefined ? silentEnd(where) : openingFailure(where, failure));
        client.end(true);
      });
      try {
        unread.begin();
        client.connect();
      } catch (cause) {
        signal.removeEventListener("abort", giveUp);
        unread.end();
        reject(new LinkError("credentials", "the TLS credentials cannot be used", { cause }));
      }
    });

function allowFewerAliases(packet: Packet): void {
  const allowed = packet.cmd === "connack" ? packet.properties : undefined;
  if (allowed?.topicAliasMaximum) allowed.topicAliasMaximum = Math.min(maxAliases, allowed.topicAliasMaximum);
}

const stopped = (): LinkError => new LinkError("stopped", "the connection is no longer wanted");

/**
 * Closes immediately. `end(true)` alone is not enough: the library ignores it while a graceful end waits for
 * acknowledgements.
 */
function cut(client: MqttClient): void {
  client.stream.destroy();
  client.end(true);
}

class MqttLink implements BrokerLink {
  sessionPresent = false;
  window = maxInFlight;
  readonly ended: Promise<LinkError>;
  readonly #clock: Clock;
  readonly #client: MqttClient;
  readonly #where: string;
  readonly #waiting = new Set<(error: PublishError | undefined) => void>();
  #resolveEnded: (error: LinkError) => void = () => {};
  #limit: number | undefined;
  #end: LinkError | undefined;

  constructor(clock: Clock, client: MqttClient, where: string) {
    this.#clock = clock;
    this.#client = client;
    this.#where = where;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  open(sessionPresent: boolean, maximumPacketSize: number | undefined, receiveMaximum: number | undefined): void {
    this.sessionPresent = sessionPresent;
    this.#limit = maximumPacketSize;
    this.window = Math.min(maxInFlight, receiveMaximum ?? maxInFlight);
  }

  end(error: LinkError): void {
    this.#end ??= error;
    // The library would keep these callbacks for a reconnect that never happens.
    for (const settle of this.#waiting) settle(lost(this.#end));
    this.#resolveEnded(this.#end);
  }

  publish(message: MqttMessage): Promise<void> {
    const size = sizeOf(message);
    const limit = this.#limit;
    if (limit !== undefined && size > limit)
      return Promise.reject(
        new PublishError(
          "oversize",
          limit,
          `the broker ${this.#where} accepts packets of at most ${limit} bytes, and ${message.topic} needs ${size}`,
        ),
      );
    const { topic, payload } = message;
    return this.#answered((settle) =>
      this.#client.publish(topic, payload, publishOptionsOf(message), (error) =>
        settle(error && this.#failure(error, topic)),
      ),
    );
  }

  subscribe(filters: readonly Subscription[]): Promise<void> {
    // rap (retain as published): the desk refuses retained commands, so it must know which commands are retained.
    const wanted = Object.fromEntries(
      filters.map(({ filter, retained }) => [filter, { qos: 1 as const, rap: true, rh: retained ? 0 : 2 }]),
    );
    return this.#answered((settle) =>
      this.#client.subscribe(wanted, (error, _, answer) =>
        settle(error ? (this.#refused(filters, answer) ?? this.#failure(error, "a subscription")) : undefined),
      ),
    );
  }

  unsubscribe(filter: string): Promise<void> {
    return this.#answered((settle) =>
      this.#client.unsubscribe(filter, (error) => settle(error && this.#failure(error, filter))),
    );
  }

  close(limit: Millis): Promise<void> {
    return new Promise((resolve) => {
      this.#end ??= stopped();
      const late = this.#clock.after(limit, () => this.abandon(stopped()));
      void this.ended.then(() => {
        late.cancel();
        resolve();
      });
      this.#client.end(false, { reasonCode: 0 });
    });
  }

  abandon(error: LinkError): void {
    this.end(error);
    cut(this.#client);
  }

  /**
   * One request to the broker. Rejects if the connection ends first; ends the connection if no reply arrives in time.
   */
  #answered(begin: (settle: (error: PublishError | undefined) => void) => void): Promise<void> {
    if (this.#end) return Promise.reject(lost(this.#end));
    return new Promise((resolve, reject) => {
      const settle = (error: PublishError | undefined): void => {
        late.cancel();
        this.#waiting.delete(settle);
        if (error) reject(error);
        else resolve();
      };
      const late = this.#clock.after(answerLimit, () => this.abandon(silent(this.#where)));
      this.#waiting.add(settle);
      begin(settle);
    });
  }

  /** The error for the first refused subscription; the library's own error has neither its filter nor its code. */
  #refused(filters: readonly Subscription[], answer: ISubackPacket | undefined): PublishError | undefined {
    for (const [at, code] of answer?.granted.entries() ?? [])
      if (typeof code === "number" && code >= firstFailure)
        return refusal(this.#where, `a subscription (${filters[at]?.filter})`, code);
    return undefined;
  }

  #failure(error: Error, what: string): PublishError {
    const code = "code" in error && typeof error.code === "number" ? error.code : undefined;
    return code === undefined ? new PublishError("lost", 0, error.message) : refusal(this.#where, what, code);
  }
}

const refusal = (where: string, what: string, code: number): PublishError =>
  new PublishError("refused", code, `the broker ${where} refuses ${what}: ${reasonOf(code)}`);

const lost = (end: LinkError): PublishError => new PublishError("lost", 0, end.message);

const silent = (where: string): LinkError =>
  new LinkError("lost", `the broker ${where} does not acknowledge messages of this board`);
