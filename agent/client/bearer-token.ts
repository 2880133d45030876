import { CredentialsError } from "./credentials-error.ts";

/**
 * A token for a header: trims blanks and line ends, which editors and YAML leave there. Undefined if nothing remains.
 * Throws on characters that a header cannot carry; they would break the request off without a usable error.
 */
export function bearerToken(text: string, where: string): string | undefined {
  const token = text.trim();
  if (/^[\x20-\x7e]*$/.test(token)) return token === "" ? undefined : token;
  throw new CredentialsError(
    `${where} has a line break or another character in it that no token has`,
    "Copy the token again, as one line of plain letters, digits and signs.",
  );
}
