import type { JsonRecord } from "../../base/json.ts";

/** A message, with its signature if it has one. */
export type SignedMessage = Pick<CommandRequest, "topic" | "payload" | "signature">;

/** A command as received by a transport; `payload` is unchecked. */
export interface CommandRequest {
  readonly origin: "mqtt" | "local";
  readonly scope: "board" | "site" | "fleet";
  /** The full topic, as covered by the signature; "" for a local command. */
  readonly topic: string;
  /** The command's name; from the topic or, for a local command, from the payload. */
  readonly name: string;
  readonly id: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  /** Remaining message expiry; undefined if the message has none. */
  readonly expirySeconds: number | undefined;
  readonly signature?: { readonly sig: string; readonly kid: string };
  /** The correlation data is too long to be returned, so the command is refused. */
  readonly asksTooMuch?: boolean;
  /** A site command that may have been sent before this board's term, and executed by another leader. */
  readonly isLate?: boolean;
  /** The user who sent a local command, such as "local:1000"; undefined for commands of the fleet. */
  readonly author?: string;
}

/** An answer to a command, published on `res/<name>/<id>`, expiring after `expirySeconds`. */
export interface Answer {
  readonly id: string;
  readonly name: string;
  readonly scope: CommandRequest["scope"];
  /** As specified in docs/interfaces.md#answers. */
  readonly body: JsonRecord;
  readonly expirySeconds: number;
  readonly isTerminal: boolean;
}

/**
 * "no answer": the request is dropped. `later`: the answers after the first, up to the terminal one; if this process
 * stops before the terminal one, the next process sends it.
 */
export type DeskReply = "no answer" | { readonly answer: Answer; readonly later?: AsyncIterable<Answer> };
