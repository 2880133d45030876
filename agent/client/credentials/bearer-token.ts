import { CredentialsError } from "./credentials-error.ts";

/**
 * Prepares a token for the Authorization header: trims the blanks and line ends that editors and YAML add. Undefined if
 * nothing remains. Throws CredentialsError on characters that a header cannot contain. `where`: the source, for
 * messages.
 */
export function bearerToken(text: string, where: string): string | undefined {
  const token = text.trim();
  if (/^[\x20-\x7e]*$/.test(token)) return token === "" ? undefined : token;
  throw new CredentialsError(
    `${where} contains a line break or another character that a token cannot have`,
    "Copy the token again, as one line of letters, digits and punctuation.",
  );
}
