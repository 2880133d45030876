import type { ISubackPacket, Packet } from "mqtt-packet";
import type { Clock, Millis } from "../base/clock.ts";
import { brokerSocket } from "./broker-socket.ts";
import { type Link, LinkError, type Message, type OpenLink, PublishError, type Subscription } from "./link.ts";
import { endOf, olderProtocol, openingFailure, reasonOf, silentEnd } from "./link-failure.ts";
import { MqttClient } from "./mqtt-client.ts";
import { incomingOf, publishOptionsOf, sizeOf } from "./mqtt-messages.ts";
import { inTurn, optionsOf } from "./mqtt-options.ts";
import { ReadDelay } from "./read-delay.ts";

/** Upper bound whatever the broker allows: unacknowledged messages take up heap as well as disk. */
const mostInFlight = 4;
/** Size of the smallest MQTT 5 CONNACK, which always has properties. */
const shortestAnswer = 3;
/** Time limit for each acknowledgement: a broker may answer pings and nothing else. */
const answerLimit: Millis = 30_000;
/** Each alias keeps a topic on the heap, some brokers allow 65535, and few topics of a board recur. */
const mostAliases = 16;
/** SUBACK codes from here on are failures. */
const firstFailure = 0x80;

/** Opens connections through MQTT.js. Each client serves one connection only; retrying is up to the caller. */
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
        failure ??= new LinkError("protocol", `the broker ${where} sends a packet that is larger than it was told`);
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
      const giveUp = (): void => fail(stopped());
      signal.addEventListener("abort", giveUp, { once: true });
      // Stays registered to the end: an unhandled error event would end the process. Errors end the connection, because
      // the library would continue, and an unacknowledged message would never come again.
      client.on("error", fail);
      client.onKeepaliveTimeout = () => fail(new LinkError("lost", `the broker ${where} does not answer any more`));
      // Runs before the library reads the packet.
      client.on("packetreceive", allowFewerAliases);
      // Messages with an acknowledgement have been handled already (see optionsOf).
      client.handleMessage = (packet, taken) => {
        if (packet.qos > 0) taken();
        else
          inTurn(opening.receive, incomingOf(packet, unread)).then(
            () => taken(),
            // QoS 0 is not delivered again.
            () => taken(),
          );
      };
      client.on("disconnect", ({ reasonCode }) => {
        disconnect = reasonCode ?? 0;
      });
      client.on("connect", ({ sessionPresent, properties, length = 0 }) => {
        if (length < shortestAnswer) {
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
        reject(new LinkError("credentials", "the files for TLS cannot be used", { cause }));
      }
    });

function allowFewerAliases(packet: Packet): void {
  const allowed = packet.cmd === "connack" ? packet.properties : undefined;
  if (allowed?.topicAliasMaximum) allowed.topicAliasMaximum = Math.min(mostAliases, allowed.topicAliasMaximum);
}

const stopped = (): LinkError => new LinkError("stopped", "the connection is no longer wanted");

/** Closes at once. After a graceful end the library waits for every acknowledgement and ignores a later forced end. */
function cut(client: MqttClient): void {
  client.stream.destroy();
  client.end(true);
}

class MqttLink implements Link {
  sessionPresent = false;
  window = mostInFlight;
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
    this.window = Math.min(mostInFlight, receiveMaximum ?? mostInFlight);
  }

  end(error: LinkError): void {
    this.#end ??= error;
    // The library would keep these callbacks for a reconnect that never comes.
    for (const settle of this.#waiting) settle(lost(this.#end));
    this.#resolveEnded(this.#end);
  }

  publish(message: Message): Promise<void> {
    const size = sizeOf(message);
    const limit = this.#limit;
    if (limit !== undefined && size > limit)
      return Promise.reject(
        new PublishError(
          "oversize",
          limit,
          `the broker ${this.#where} takes packets of ${limit} bytes, and ${message.topic} has ${size}`,
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
    // Retain as published: the desk must see which commands were sent retained.
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

  /** One request to the broker. Rejects if the connection ends first; ends the connection on a missing answer. */
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

  /** Finds the refused subscription and its code, which the library's error lacks. */
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
  new LinkError("lost", `the broker ${where} does not acknowledge what this board sends`);
