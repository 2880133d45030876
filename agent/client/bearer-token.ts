import { CredentialsError } from "./credentials-error.ts";

/**
 * A token as it goes into a header: without the blanks and line ends around it, which editors and YAML leave there;
 * undefined: there is nothing else. Any other character that no header carries would break the request off, and nobody
 * would learn why.
 */
export function bearerToken(text: string, where: string): string | undefined {
  const token = text.trim();
  if (/^[\x20-\x7e]*$/.test(token)) return token === "" ? undefined : token;
  throw new CredentialsError(
    `${where} has a line break or another character in it that no token has`,
    "Copy the token again, as one line of plain letters, digits and signs.",
  );
}
