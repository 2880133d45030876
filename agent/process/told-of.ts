import { StorageError } from "../../storage/errors.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";

/** A StorageError's sentence says it all; SQLite's own words for the same are for the log. */
export const toldOf = (error: unknown): { readonly message: string; readonly hint: string | undefined } => ({
  message: error instanceof StorageError ? error.message : sentenceOf(error),
  hint: hintOf(error),
});
