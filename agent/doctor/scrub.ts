const mask = "[redacted]";

/** What looks like a secret wherever it stands, whoever wrote it there. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----[\s\S]*?(-----END \1-----|$)/g, `-----BEGIN $1----- ${mask}`],
  // The same in base64, as kubeconfigs have it: "-----BEGIN " at any of the three places.
  [/LS0tLS1CRUdJTi[A-Za-z0-9+/=\s]{40,}/g, mask],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${mask}`],
  // A JSON web token: service accounts have them.
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, mask],
  [/(:\/\/)[^\s/:@"]*:[^\s/@"]+@/g, `$1${mask}@`],
  // As JSON has it, and as JSON inside of JSON has it.
  [
    /((?:password|passwd|secret|token|authorization|client-key-data|api[_-]?key|private[_-]?key)(?:\\*")?\s*[:=]\s*(?:\\*")?)(?!\[redacted\])[^\s",}\\]{3,}/gi,
    `$1${mask}`,
  ],
];

/** Shorter texts would be found in every second word. */
const shortest = 6;

/**
 * Takes secrets out of a text: those that are known by heart, in the forms in which they travel, and whatever looks like
 * one. Rather too much than too little: what is missing in a log can be asked for.
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

/** As it is, line by line, in base64, in a URL, and inside JSON. */
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
