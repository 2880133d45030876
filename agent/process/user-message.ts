import { StorageError } from "../../storage/errors.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";

/** The message and hint for an operator. A StorageError's message leaves out SQLite's own, which is in the log. */
export const userMessageOf = (error: unknown): { readonly message: string; readonly hint: string | undefined } => ({
  message: error instanceof StorageError ? error.message : sentenceOf(error),
  hint: hintOf(error),
});
