import type { Millis } from "../base/clock.ts";

/** One message to the broker, at QoS 1. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  readonly expiry?: Millis | undefined;
  /** Repeats the answer's number, so that a rule of the broker can route without reading JSON. */
  readonly code?: string | undefined;
  /** base64 */
  readonly correlation?: string | undefined;
}

/** One message of the broker. */
export interface Incoming {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly expirySeconds: number | undefined;
  readonly responseTopic: string | undefined;
  /** base64 */
  readonly correlation: string | undefined;
  readonly userProperties: ReadonlyMap<string, string>;
}

/**
 * What a connection is opened with. `receive` is awaited before the message is acknowledged; where it fails, the message is
 * not, and the connection ends: the broker delivers it again.
 */
export interface Opening {
  readonly url: URL;
  readonly tls: { readonly ca: string | undefined; readonly certificate: string; readonly key: string } | undefined;
  readonly clientId: string;
  readonly keepalive: Millis;
  readonly sessionExpiry: Millis;
  readonly receiveMaximum: number;
  readonly maxPacket: number;
  /** A topic is sent in full once for each connection, as far as the broker can remember it, and as a number from then on. */
  readonly topicAliases: boolean;
  readonly connectTimeout: Millis;
  readonly will: { readonly topic: string; readonly payload: string; readonly delay: Millis };
  readonly receive: (message: Incoming) => Promise<void>;
}

/** An open connection. */
export interface Link {
  /** The broker remembers our subscriptions, and what came for us in between. */
  readonly sessionPresent: boolean;
  /** Messages that may wait for their acknowledgement at the same time. */
  readonly window: number;
  readonly ended: Promise<LinkError>;
  /** Resolves when the broker has it; rejects with a PublishError. Where no answer comes for long, the connection ends. */
  publish(message: Message): Promise<void>;
  subscribe(filters: readonly Subscription[]): Promise<void>;
  unsubscribe(filter: string): Promise<void>;
  /** Says goodbye; the will is discarded by that. Never fails, and never takes longer, whatever the broker does. */
  close(limit: Millis): Promise<void>;
  /** Ends at once, without a word. */
  abandon(error: LinkError): void;
}

export interface Subscription {
  readonly filter: string;
  /** Whether what is retained there is sent now. */
  readonly retained: boolean;
}

/** Opens a connection; rejects with a LinkError. */
export type OpenLink = (opening: Opening, signal: AbortSignal) => Promise<Link>;

/**
 * unreachable: no connection, or no answer · lost: it was up · dismissed: it was up, and the broker said why not any more ·
 * taken: another client came with our identity · refused: the broker does not want this board, or not what it has to say ·
 * protocol: it does not speak MQTT 5, or not as it must · certificate: one of both sides is not trusted · credentials: our
 * files · stopped: we ended it.
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

/** refused: the broker has it not, and says so · oversize: it was not even sent · lost: nobody knows. */
export class PublishError extends Error {
  override readonly name = "PublishError";
  readonly kind: "refused" | "oversize" | "lost";
  /** The broker's reason code; for an oversize message its limit. */
  readonly code: number;

  constructor(kind: PublishError["kind"], code: number, message: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}
