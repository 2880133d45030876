import type { JsonRecord } from "../../base/json.ts";

/** Why a command is not executed. rejected: nothing was done. expired: its deadline passed before it began. */
export interface Refusal {
  readonly state: "rejected" | "expired";
  readonly code: number;
  /** Machine-readable; with the code it labels a metric. */
  readonly error: string;
  readonly message: string;
  /** A JSON pointer into the command. */
  readonly field?: string;
  readonly retryAfterMs?: number;
  readonly result?: JsonRecord;
}

export const rejected = (code: number, error: string, message: string): Refusal => ({
  state: "rejected",
  code,
  error,
  message,
});

export const correlationTooLong = rejected(
  400,
  "correlation-too-long",
  "correlation data of more than 1024 bytes is not kept, and so not given back",
);
