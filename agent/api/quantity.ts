/** Each suffix as a power. Decimal powers count billionths (m = 10⁶ billionths); binary powers count units. */
const suffixes: Readonly<Record<string, readonly [base: bigint, power: bigint]>> = {
  n: [10n, 0n],
  u: [10n, 3n],
  m: [10n, 6n],
  "": [10n, 9n],
  k: [10n, 12n],
  M: [10n, 15n],
  G: [10n, 18n],
  T: [10n, 21n],
  P: [10n, 24n],
  E: [10n, 27n],
  Ki: [2n, 10n],
  Mi: [2n, 20n],
  Gi: [2n, 30n],
  Ti: [2n, 40n],
  Pi: [2n, 50n],
  Ei: [2n, 60n],
};

const nano = 10n ** 9n;

/**
 * Parses a Kubernetes quantity ("250m", "1.5Gi", "1e3"). Returns billionths, the smallest unit of a quantity, rounded
 * up if there is a remainder; undefined if `written` is not a quantity.
 */
export function quantity(written: unknown): bigint | undefined {
  const text = typeof written === "number" ? String(written) : written;
  if (typeof text !== "string") return undefined;
  const [, sign, whole = "", fraction = "", suffix = "", exponent] =
    /^([+-]?)(\d{0,20})(?:\.(\d{0,20}))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/.exec(text) ?? [];
  if (whole + fraction === "") return undefined;
  const [base, power] = suffixes[suffix] ?? [10n, 9n];
  const shift = BigInt(exponent ?? 0);
  const factor = (base === 2n ? nano : 1n) * base ** power * 10n ** (shift > 0n ? shift : 0n);
  const divisor = 10n ** (BigInt(fraction.length) + (shift < 0n ? -shift : 0n));
  const amount = (BigInt(whole + fraction) * factor + divisor - 1n) / divisor;
  return sign === "-" ? -amount : amount;
}
