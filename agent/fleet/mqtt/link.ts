import type { Millis } from "../../base/clock.ts";

/** A message to publish at QoS 1. */
export interface MqttMessage {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  /** Time after which the broker drops the message; undefined if it never does. */
  readonly expiry?: Millis | undefined;
  /** The code of an answer. It is also sent as a user property, so that rules of the broker need not parse JSON. */
  readonly code?: string | undefined;
  /** Correlation data, in base64. */
  readonly correlation?: string | undefined;
}

/** A message received from the broker. */
export interface Incoming {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  /** Seconds until the message expires; undefined if it never does. */
  readonly expirySeconds: number | undefined;
  readonly responseTopic: string | undefined;
  /** Correlation data, in base64. */
  readonly correlation: string | undefined;
  readonly userProperties: ReadonlyMap<string, string>;
}

/** Parameters of a connection. */
export interface LinkOptions {
  readonly url: URL;
  readonly tls: { readonly ca: string | undefined; readonly certificate: string; readonly key: string } | undefined;
  readonly clientId: string;
  readonly keepalive: Millis;
  readonly sessionExpiry: Millis;
  /** Number of messages that the broker may send without an acknowledgement. */
  readonly receiveMaximum: number;
  /** Size of the largest packet that the broker may send, in bytes. */
  readonly maxPacket: number;
  /** Whether each topic is replaced with a topic alias after its first use, as far as the broker permits. */
  readonly topicAliases: boolean;
  readonly connectTimeout: Millis;
  readonly will: { readonly topic: string; readonly payload: string; readonly delay: Millis };
  /**
   * Handles a message, which is acknowledged when this resolves. If it rejects, the connection ends, and the broker
   * delivers the message again.
   */
  readonly receive: (message: Incoming) => Promise<void>;
}

/** An open connection. */
export interface BrokerLink {
  /** Whether the broker has kept the subscriptions and queued messages of the previous connection. */
  readonly sessionPresent: boolean;
  /** Maximum number of published messages without an acknowledgement. */
  readonly window: number;
  /** Resolves when the connection has ended. */
  readonly ended: Promise<LinkError>;
  /**
   * Resolves when the broker has acknowledged the message; rejects with a PublishError. If the acknowledgement does not
   * arrive, the connection ends.
   */
  publish(message: MqttMessage): Promise<void>;
  subscribe(filters: readonly Subscription[]): Promise<void>;
  unsubscribe(filter: string): Promise<void>;
  /** Disconnects cleanly, so that the broker discards the will. Never rejects, and takes at most `limit`. */
  close(limit: Millis): Promise<void>;
  /** Closes immediately, without a DISCONNECT. */
  abandon(error: LinkError): void;
}

export interface Subscription {
  readonly filter: string;
  /** Whether the broker sends retained messages on subscribing. */
  readonly retained: boolean;
}

/** Opens a connection; rejects with a LinkError. */
export type OpenLink = (opening: LinkOptions, signal: AbortSignal) => Promise<BrokerLink>;

/**
 * Why a connection failed or ended. unreachable: no connection, or no reply · lost: it ended without a reason ·
 * dismissed: the broker ended it with a reason · taken: another client connected with this board's identity · refused:
 * the broker refuses this board or its messages · protocol: the broker does not speak MQTT 5, or violates it ·
 * certificate: one side does not trust the other · credentials: this board's files are unusable · stopped: this agent
 * ended it.
 */
export type LinkErrorKind =
  | "unreachable"
  | "lost"
  | "dismissed"
  | "taken"
  | "refused"
  | "protocol"
  | "certificate"
  | "credentials"
  | "stopped";

export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly kind: LinkErrorKind;
  readonly hint: string | undefined;

  constructor(kind: LinkErrorKind, message: string, more: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.kind = kind;
    this.hint = more.hint;
  }
}

/**
 * A message was not acknowledged. refused: the broker rejected it · oversize: it is larger than the broker accepts, and
 * was not sent · lost: the connection ended, and the outcome is unknown.
 */
export class PublishError extends Error {
  override readonly name = "PublishError";
  readonly kind: "refused" | "oversize" | "lost";
  /** The broker's reason code; for an oversize message, the broker's limit in bytes; 0 if lost. */
  readonly code: number;

  constructor(kind: PublishError["kind"], code: number, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}
