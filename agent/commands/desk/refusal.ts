import type { JsonRecord } from "../../base/json.ts";

/** Why a command is not executed. rejected: a check failed. expired: its deadline passed before it started. */
export interface Refusal {
  readonly state: "rejected" | "expired";
  readonly code: number;
  /** Machine-readable; together with the code, it labels a metric. */
  readonly error: string;
  readonly message: string;
  /** The invalid member, as a JSON pointer into the command. */
  readonly field?: string;
  /** When a rate-limited sender may try again. */
  readonly retryAfterMs?: number;
  readonly result?: JsonRecord;
}

export const rejection = (code: number, error: string, message: string): Refusal => ({
  state: "rejected",
  code,
  error,
  message,
});

export const correlationTooLong = rejection(
  400,
  "correlation-too-long",
  "correlation data may have at most 1024 bytes",
);
