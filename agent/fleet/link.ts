import type { Millis } from "../base/clock.ts";

/** A message to publish at QoS 1. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  readonly expiry?: Millis | undefined;
  /** Repeats the answer's code, so that broker rules can route without parsing JSON. */
  readonly code?: string | undefined;
  /** base64. */
  readonly correlation?: string | undefined;
}

/** A message received from the broker. */
export interface Incoming {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly expirySeconds: number | undefined;
  readonly responseTopic: string | undefined;
  /** base64. */
  readonly correlation: string | undefined;
  readonly userProperties: ReadonlyMap<string, string>;
}

/**
 * Parameters of a connection. `receive` is awaited before the message is acknowledged; if it rejects, the connection
 * ends unacknowledged, and the broker delivers the message again.
 */
export interface Opening {
  readonly url: URL;
  readonly tls: { readonly ca: string | undefined; readonly certificate: string; readonly key: string } | undefined;
  readonly clientId: string;
  readonly keepalive: Millis;
  readonly sessionExpiry: Millis;
  readonly receiveMaximum: number;
  readonly maxPacket: number;
  /** Sends each topic in full once per connection, as far as the broker allows, then as a topic alias. */
  readonly topicAliases: boolean;
  readonly connectTimeout: Millis;
  readonly will: { readonly topic: string; readonly payload: string; readonly delay: Millis };
  readonly receive: (message: Incoming) => Promise<void>;
}

/** An open connection. */
export interface Link {
  /** Whether the broker has kept our subscriptions and queued messages. */
  readonly sessionPresent: boolean;
  /** Maximum number of unacknowledged messages. */
  readonly window: number;
  readonly ended: Promise<LinkError>;
  /**
   * Resolves when the broker has acknowledged; rejects with a PublishError. A missing acknowledgement ends the
   * connection.
   */
  publish(message: Message): Promise<void>;
  subscribe(filters: readonly Subscription[]): Promise<void>;
  unsubscribe(filter: string): Promise<void>;
  /** Disconnects cleanly, which discards the will. Never fails, nor takes longer than the limit. */
  close(limit: Millis): Promise<void>;
  /** Closes at once, without a DISCONNECT. */
  abandon(error: LinkError): void;
}

export interface Subscription {
  readonly filter: string;
  /** Whether the broker sends retained messages now. */
  readonly retained: boolean;
}

/** Opens a connection; rejects with a LinkError. */
export type OpenLink = (opening: Opening, signal: AbortSignal) => Promise<Link>;

/**
 * unreachable: no connection, or no answer · lost: it was up · dismissed: it was up, and the broker gave a reason ·
 * taken: another client connected with our identity · refused: the broker refuses this board or its messages ·
 * protocol: no MQTT 5, or a violation of it · certificate: one side does not trust the other · credentials: our files
 * are unusable · stopped: we ended it.
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

/** refused: rejected by the broker · oversize: not sent · lost: outcome unknown. */
export class PublishError extends Error {
  override readonly name = "PublishError";
  readonly kind: "refused" | "oversize" | "lost";
  /** The broker's reason code; for an oversize message the broker's limit. */
  readonly code: number;

  constructor(kind: PublishError["kind"], code: number, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}
