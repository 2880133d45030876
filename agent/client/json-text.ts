import type { KubeObject } from "../api/meta.ts";
import { controllerRevisions, type Resource } from "../api/resources.ts";

/**
 * Maximum length of a body, in characters; a longer one is not built. kube-apiserver refuses a body of more than 3 MiB
 * (staging/src/k8s.io/apiserver/pkg/server/config.go, MaxRequestBodyBytes).
 */
const maxBodyLength = 3 * 1024 * 1024;

/** Thrown instead of building a body that no API server accepts. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** The JSON of an object to write, or of a patch. */
export const bodyText = (resource: Pick<Resource<KubeObject>, "kind">, value: unknown): string =>
  resource.kind === controllerRevisions.kind ? jsonText(value) : JSON.stringify(value);

/**
 * JSON with the same bytes as Go's encoder, which escapes these characters. The API server keeps the data of a
 * ControllerRevision as it was sent, and kubectl and kube-controller-manager compare it byte by byte: to them, a
 * template with an unescaped `&&` in a command would be a different one. For other objects, the server keeps only the
 * values, and escapes could make a tenant's text six times as long.
 */
export function jsonText(value: unknown): string {
  let text = JSON.stringify(value);
  // The length is computed first, because a template of a million such characters would take 15 MB as text, for
  // nothing.
  const length = text.length + (escapedLength - 1) * countEscaped(text);
  if (length > maxBodyLength)
    throw new BodyTooLarge(`it has ${length} characters as JSON, more than the limit of ${maxBodyLength}`);
  // These characters occur only inside strings. Literal patterns are fast, which matters because a template may hold a
  // million of them.
  for (const character of escaped) text = text.replaceAll(character, escapeOf(character));
  return text;
}

const escaped = ["<", ">", "&", "\u2028", "\u2029"];
const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
const escapedLength = 6;

function countEscaped(text: string): number {
  let count = 0;
  for (const character of escaped) {
    for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++;
  }
  return count;
}
