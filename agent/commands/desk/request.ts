import type { JsonRecord } from "../../base/json.ts";

/** A command as received by a transport; `payload` is unchecked. */
export interface Request {
  readonly origin: "mqtt" | "local";
  readonly scope: "board" | "site" | "fleet";
  /** The full topic, as covered by the signature; "" for a local command. */
  readonly topic: string;
  /** From the topic. */
  readonly name: string;
  readonly id: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  /** Remaining message expiry; undefined without one. */
  readonly expirySeconds: number | undefined;
  readonly signature?: { readonly sig: string; readonly kid: string };
  /** The correlation data exceeds the limit; the command is refused and the data not returned. */
  readonly asksTooMuch?: boolean;
  /** Only for site commands: it may have been sent before this board's term, to another leader. */
  readonly isLate?: boolean;
  /** Only for local commands: "local:1000". */
  readonly author?: string;
}

/** Published on `res/<name>/<id>`, expiring after `expirySeconds`. */
export interface Answer {
  readonly id: string;
  readonly name: string;
  readonly scope: Request["scope"];
  /** As specified in docs/interfaces.md#answers. */
  readonly body: JsonRecord;
  readonly expirySeconds: number;
  readonly isTerminal: boolean;
}

/** `later` ends with the terminal answer, or without one if the process stops first; then the next process sends it. */
export type Taken = "no answer" | { readonly answer: Answer; readonly later?: AsyncIterable<Answer> };
