const mask = "[redacted]";

/** Patterns of secrets, wherever they occur. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g, `-----BEGIN $1----- ${mask}`],
  // The same in base64, as in kubeconfigs: "-----BEGIN " at any of the three alignments.
  [/LS0tLS1CRUdJTi[A-Za-z0-9+/=\s]{40,}/g, mask],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${mask}`],
  // A JSON web token, as used by service accounts.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, mask],
  [/(:\/\/)[^\s/:@"]*:[^\s/@"]+@/g, `$1${mask}@`],
  // As in JSON, and in JSON nested in JSON.
  [
    /((?:password|passwd|secret|token|authorization|client-key-data|api[_-]?key|private[_-]?key)(?:\\*")?\s*[:=]\s*(?:\\*")?)(?!\[redacted\])[^\s",}\\]{3,}/gi,
    `$1${mask}`,
  ],
];

/** Shorter texts would match everywhere. */
const shortest = 6;

/**
 * Redacts secrets: the known ones in their usual encodings, and everything that looks like one. Prefers redacting too
 * much; missing details can be asked for.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.flatMap(formsOf))]
    .filter((secret) => secret.length >= shortest)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, mask);
    for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement);
    return clean;
  };
}

/** Verbatim, by line, in base64, URL-encoded, and JSON-escaped. */
function formsOf(secret: string): readonly string[] {
  const whole = secret.trim();
  const encoded = Buffer.from(secret).toString("base64");
  const lines = whole.split("\n").filter((line) => line.length >= 32 && !line.startsWith("-----"));
  return [
    whole,
    encoded,
    Buffer.from(whole).toString("base64"),
    encodeURIComponent(whole),
    JSON.stringify(whole).slice(1, -1),
    ...lines,
  ];
}
