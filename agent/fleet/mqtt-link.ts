import { connect as connectTcp } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { IClientOptions, IPublishPacket } from "mqtt";
import type { Clock, Millis } from "../base/clock.ts";
import {
  type Incoming,
  type Link,
  LinkError,
  type Message,
  type Opening,
  type OpenLink,
  PublishError,
  type Subscription,
} from "./link.ts";
import { endOf, olderProtocol, openingFailure, reasonOf, silentEnd } from "./link-failure.ts";
import { MqttClient } from "./mqtt-client.ts";

/** Never more, whatever the broker allows: what waits for its acknowledgement is on disk, and on the heap. */
const mostInFlight = 4;
/** Bytes of a CONNACK that has properties, as MQTT 5's always has. */
const shortestAnswer = 3;

/** Opens connections through MQTT.js. A client is used for one connection only: when to try again is our business. */
export const mqttLinks =
  (clock: Clock): OpenLink =>
  (opening, signal) =>
    new Promise((resolve, reject) => {
      const where = opening.url.host;
      if (signal.aborted) {
        reject(stopped());
        return;
      }
      const client = new MqttClient(() => streamTo(opening), optionsOf(opening));
      const link = new MqttLink(clock, client, where);
      let failure: unknown;
      let isUp = false;
      let disconnect: number | undefined;
      const giveUp = (): void => {
        failure ??= stopped();
        client.end(true);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      // Its listeners stay to the end: an error that nobody listens to would end the process.
      client.on("error", (error) => {
        failure ??= error;
        // The library goes on after an error of its own; an unacknowledged message would then never come again.
        if (isUp) client.end(true);
      });
      client.on("disconnect", ({ reasonCode }) => {
        disconnect = reasonCode ?? 0;
      });
      client.on("connect", ({ sessionPresent, properties, length = 0 }) => {
        if (length < shortestAnswer) {
          failure ??= olderProtocol(where);
          client.end(true);
          return;
        }
        isUp = true;
        signal.removeEventListener("abort", giveUp);
        link.open(sessionPresent, properties?.maximumPacketSize, properties?.receiveMaximum);
        resolve(link);
      });
      client.on("close", () => {
        signal.removeEventListener("abort", giveUp);
        if (isUp) link.end(endOf(where, failure, disconnect));
        else if (failure instanceof LinkError) reject(failure);
        else reject(failure === undefined ? silentEnd(where) : openingFailure(where, failure));
        client.end(true);
      });
      try {
        client.connect();
      } catch (cause) {
        reject(new LinkError("credentials", "the files for TLS cannot be used", { cause }));
      }
    });

const stopped = (): LinkError => new LinkError("stopped", "the connection is no longer wanted");

class MqttLink implements Link {
  sessionPresent = false;
  window = mostInFlight;
  readonly ended: Promise<LinkError>;
  readonly #clock: Clock;
  readonly #client: MqttClient;
  readonly #where: string;
  readonly #waiting = new Set<(error: PublishError) => void>();
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
    // The library keeps such callbacks for a next connection, which there is not.
    for (const fail of this.#waiting) fail(lost(this.#end));
    this.#waiting.clear();
    this.#resolveEnded(this.#end);
  }

  publish(message: Message): Promise<void> {
    const size = sizeOf(message);
    const limit = this.#limit;
    if (limit !== undefined && size > limit)
      return Promise.reject(
        new PublishError("oversize", limit, `${message.topic}: ${size} bytes, and the broker takes ${limit}`),
      );
    const { topic, payload, retain, expiry, code, correlation } = message;
    const properties = {
      ...(expiry !== undefined && { messageExpiryInterval: Math.max(1, Math.ceil(expiry / 1000)) }),
      ...(code !== undefined && { userProperties: { code } }),
      ...(correlation !== undefined && { correlationData: Buffer.from(correlation, "base64") }),
    };
    return this.#answered((settle) =>
      this.#client.publish(topic, payload, { qos: 1, retain, properties }, (error) => settle(error, topic)),
    );
  }

  subscribe(filters: readonly Subscription[]): Promise<void> {
    // Retained as published: a command that was sent retained must be told from one that was not.
    const wanted = Object.fromEntries(
      filters.map(({ filter, retained }) => [filter, { qos: 1 as const, rap: true, rh: retained ? 0 : 2 }]),
    );
    return this.#answered((settle) => this.#client.subscribe(wanted, (error) => settle(error, "a subscription")));
  }

  unsubscribe(filter: string): Promise<void> {
    return this.#answered((settle) => this.#client.unsubscribe(filter, (error) => settle(error, filter)));
  }

  close(limit: Millis): Promise<void> {
    return new Promise((resolve) => {
      this.#end ??= stopped();
      const late = this.#clock.after(limit, () => this.#client.end(true));
      void this.ended.then(() => {
        late.cancel();
        resolve();
      });
      this.#client.end(false, { reasonCode: 0 });
    });
  }

  abandon(error: LinkError): void {
    this.#end ??= error;
    this.#client.end(true);
  }

  /** One exchange with the broker. It fails where the connection ends first. */
  #answered(begin: (settle: (error: unknown, what: string) => void) => void): Promise<void> {
    if (this.#end) return Promise.reject(lost(this.#end));
    return new Promise((resolve, reject) => {
      const fail = (error: PublishError): void => reject(error);
      this.#waiting.add(fail);
      begin((error, what) => {
        this.#waiting.delete(fail);
        if (error === null || error === undefined) resolve();
        else reject(failureOf(error, what, this.#where));
      });
    });
  }
}

const lost = (end: LinkError): PublishError => new PublishError("lost", 0, end.message);

function failureOf(error: unknown, what: string, where: string): PublishError {
  const code = error instanceof Error && "code" in error && typeof error.code === "number" ? error.code : undefined;
  if (code === undefined) return new PublishError("lost", 0, error instanceof Error ? error.message : String(error));
  return new PublishError("refused", code, `the broker ${where} refuses ${what}: ${reasonOf(code)}`);
}

/** Not less than the packet takes: 5 bytes of header, then all of its parts with their lengths. */
function sizeOf({ topic, payload, expiry, code, correlation }: Message): number {
  const properties =
    (expiry === undefined ? 0 : 5) +
    (code === undefined ? 0 : 5 + Buffer.byteLength("code") + Buffer.byteLength(code)) +
    (correlation === undefined ? 0 : 3 + Buffer.byteLength(correlation, "base64"));
  return 5 + 2 + Buffer.byteLength(topic) + 2 + 4 + properties + Buffer.byteLength(payload);
}

function optionsOf(opening: Opening): IClientOptions {
  const { clientId, keepalive, sessionExpiry, receiveMaximum, maxPacket, connectTimeout, will, receive } = opening;
  return {
    protocolVersion: 5,
    protocolId: "MQTT",
    clean: false,
    clientId,
    keepalive: Math.round(keepalive / 1000),
    connectTimeout,
    manualConnect: true,
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    timerVariant: "native",
    // All numbers up to 65535 as buffers of their own would take 8 MB.
    writeCache: false,
    properties: {
      sessionExpiryInterval: Math.round(sessionExpiry / 1000),
      receiveMaximum,
      maximumPacketSize: maxPacket,
    },
    will: {
      topic: will.topic,
      payload: Buffer.from(will.payload),
      qos: 1,
      retain: true,
      properties: { willDelayInterval: Math.round(will.delay / 1000) },
    },
    // The acknowledgement follows when this calls back: what came is durable then. An error ends the connection, and the
    // broker sends the message again.
    customHandleAcks: (topic, payload, packet: IPublishPacket, done) => {
      receive(incomingOf(topic, payload, packet)).then(
        () => done(0),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      );
    },
  };
}

/** The socket that the client speaks through. */
function streamTo({ url, tls }: Opening): Duplex {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (!tls) return connectTcp({ host, port: Number(url.port || 1883) });
  const { ca, certificate: cert, key } = tls;
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
  return connectTls({
    host,
    port: Number(url.port || 8883),
    cert,
    key,
    ...servername,
    ...(ca !== undefined && { ca }),
  });
}

function incomingOf(topic: string, payload: Uint8Array, { retain, properties }: IPublishPacket): Incoming {
  const { messageExpiryInterval, responseTopic, correlationData, userProperties = {} } = properties ?? {};
  const named = Object.entries(userProperties).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
  return {
    topic,
    payload,
    retained: retain,
    expirySeconds: messageExpiryInterval,
    responseTopic: responseTopic?.toString(),
    correlation: correlationData?.toString("base64"),
    userProperties: new Map(named),
  };
}
