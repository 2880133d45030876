/** For "did you mean": the most similar word, if it is similar enough that `word` may be a misspelling of it. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of words) {
    const distance = slips(typed, candidate.toLowerCase());
    if (distance > Math.max(1, Math.floor(candidate.length / 3))) continue;
    if (!best || distance < best.distance) best = { word: candidate, distance };
  }
  return best?.word;
}

/** The edit distance: how many letters to add, remove, replace or swap with their neighbour to turn `a` into `b`. */
function slips(a: string, b: string): number {
  // The input may be of any length. Words this long are never misspellings of the candidates, and comparing them would
  // take a long time.
  if (a.length > 100 || b.length > 100) return Number.POSITIVE_INFINITY;
  let older: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        at(row, j) + 1,
        at(next, j - 1) + 1,
        at(row, j - 1) + (same ? 0 : 1),
        swapped ? at(older, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    older = row;
    row = next;
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY;
