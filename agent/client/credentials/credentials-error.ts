import type { HasDisposition } from "../../base/errors.ts";

/**
 * Credentials are missing or unusable. They are read again for each new connection, so the agent recovers by itself
 * once an operator has corrected them.
 */
export class CredentialsError extends Error implements HasDisposition {
  override readonly name = "CredentialsError";
  readonly disposition = "retry";
  readonly hint: string;
  /** The credentials exist, but this user is not allowed to read them. */
  readonly isForbidden: boolean;

  constructor(
    message: string,
    hint: string,
    { cause, isForbidden = false }: { readonly cause?: unknown; readonly isForbidden?: boolean } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.hint = hint;
    this.isForbidden = isForbidden;
  }
}
