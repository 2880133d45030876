import type { HasDisposition } from "../base/errors.ts";

/**
 * Credentials that cannot be used, in one sentence. They are read again for each new connection, so that the agent goes
 * on by itself once a person has put them right.
 */
export class CredentialsError extends Error implements HasDisposition {
  override readonly name = "CredentialsError";
  readonly disposition = "retry";
  readonly hint: string;
  /** They are there, and this user may not read them. */
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
