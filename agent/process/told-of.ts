import { StorageError } from "../../storage/errors.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";

/** The message and hint for a person. A StorageError's sentence is enough; SQLite's own words are for the log. */
export const toldOf = (error: unknown): { readonly message: string; readonly hint: string | undefined } => ({
  message: error instanceof StorageError ? error.message : sentenceOf(error),
  hint: hintOf(error),
});
