const mask = "[redacted]";

/** Patterns of secrets, with their replacements. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g, `-----BEGIN $1----- ${mask}`],
  // The same in base64, as in kubeconfigs: "-----BEGIN " at each of the three positions in a group of three bytes.
  [/(?:LS0tLS1CRUdJTi|0tLS0tQkVHSU4g|tLS0tLUJFR0lOI)[A-Za-z0-9+/=\s]{40,}/g, mask],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${mask}`],
  // A JSON web token, as used by service accounts.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, mask],
  // A parameter of a signed address.
  [/([?&](?:sig|signature|code|key|auth|pass|pwd|x-amz-[a-z-]{1,40})=)(?!\[redacted\])[^\s&"'<>\\]+/gi, `$1${mask}`],
  // A field whose name suggests a secret, in JSON or YAML, or in JSON embedded as a string in JSON.
  [
    /((?:password|passwd|passphrase|secret|token|authorization|client-key-data|api[_-]?key|private[_-]?key|[_-]key|(?:access|account|refresh|session|shared)key)(?:\\*")?\s*[:=]\s*(?:\\*")?)(?!\[redacted\])[^\s",}\\]{3,}/gi,
    `$1${mask}`,
  ],
  // A password in a sentence, such as "password hunter2222 was refused"; words that commonly follow are excluded.
  [
    /\b((?:password|passwd|passphrase)\s{1,8}(?:is\s{1,8})?)(?!(?:and|are|by|cannot|does|expired|failed|file|for|from|has|in|incorrect|invalid|is|may|missing|must|not|of|on|or|required|that|to|too|was|were|with|wrong)\b)(?!\[redacted\])[^\s",}\\]{3,}/gi,
    `$1${mask}`,
  ],
  // The same for other secrets, if the word looks random, with both digits and letters.
  [/\b((?:secret|token)\s{1,8})(?=[^\s",}\\]{0,256}\d)(?=[^\s",}\\]{0,256}[a-z])[^\s",}\\/]{8,}/gi, `$1${mask}`],
];

/**
 * Minimum length of a secret, in characters. A shorter one is not redacted, because it may occur anywhere by chance.
 */
const minSecretLength = 6;

/**
 * Returns a function that redacts secrets: the given ones in their usual encodings, and everything that looks like a
 * secret. Errs on the side of redacting too much.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = [...new Set(secrets.flatMap(formsOf))]
    .filter((secret) => secret.length >= minSecretLength)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, mask);
    clean = clean.replace(addresses, (_, rest: string) => `://${withoutUser(rest)}`);
    for (const [pattern, replacement] of patterns) clean = clean.replace(pattern, replacement);
    return clean;
  };
}

const addresses = /:\/\/([^\s"]+)/g;

/**
 * The rest of an address, without its user and password. A password may contain "/" and "@" unescaped. So everything up
 * to the last "@" is redacted if the part before the first slash contains an "@" or a colon: what looks like a port may
 * be part of a password.
 */
function withoutUser(rest: string): string {
  const path = rest.indexOf("/");
  const host = path < 0 ? rest : rest.slice(0, path);
  return host.includes("@") || host.includes(":") ? rest.replace(/^.*@/, `${mask}@`) : rest;
}

/** A secret as it may occur in the archive: verbatim, by line, in base64, URL-encoded, and JSON-escaped. */
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
