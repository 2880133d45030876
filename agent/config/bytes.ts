const units: readonly (readonly [string, number])[] = [
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
];

/** Parses "8MiB" or "512KiB" to bytes; undefined if the text is not a size, or not a whole number of bytes. */
export function parseBytes(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(B|KiB|MiB|GiB)$/.exec(text) ?? [];
  const factor = units.find(([name]) => name === unit)?.[1];
  if (amount === undefined || factor === undefined) return undefined;
  const size = Number(amount) * factor;
  return Number.isSafeInteger(size) ? size : undefined;
}

/** Formats bytes in the largest unit that divides them. */
export function formatBytes(size: number): string {
  const [unit, factor] = units.find(([, factor]) => size >= factor && size % factor === 0) ?? ["B", 1];
  return `${size / factor}${unit}`;
}
