import type { JsonRecord } from "../../base/json.ts";

/** A command as a transport received it: nothing in `payload` has been looked at yet. */
export interface Request {
  readonly origin: "mqtt" | "local";
  readonly scope: "board" | "site" | "fleet";
  /** In full, as the signature covers it; "" for a local one. */
  readonly topic: string;
  /** From the topic. */
  readonly name: string;
  readonly id: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  /** What is left of the message's time. */
  readonly expirySeconds: number | undefined;
  readonly signature?: { readonly sig: string; readonly kid: string };
  /** What its sender wants to have back with the answer is more than is kept: he is answered without it. */
  readonly asksTooMuch?: boolean;
  /** Of one of the site: it may be of a term before the one that this board leads in, and of another leader. */
  readonly isLate?: boolean;
  /** Of a local one: "local:1000". */
  readonly author?: string;
}

/** What is published on `res/<name>/<id>`, and what for how long. */
export interface Answer {
  readonly id: string;
  readonly name: string;
  readonly scope: Request["scope"];
  /** The response of docs/interfaces.md#answers. */
  readonly body: JsonRecord;
  readonly expirySeconds: number;
  readonly isTerminal: boolean;
}

/** `later` ends with the terminal answer, or without one where the process stops first: the next one gives it then. */
export type Taken = "no answer" | { readonly answer: Answer; readonly later?: AsyncIterable<Answer> };
