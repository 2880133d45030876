import { StorageError } from "../../storage/errors.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";

/** The message and hint for an operator. The message of a StorageError omits SQLite's own, which is in the log. */
export const userMessageOf = (error: unknown): { readonly message: string; readonly hint: string | undefined } => ({
  message: error instanceof StorageError ? error.message : sentenceOf(error),
  hint: hintOf(error),
});
