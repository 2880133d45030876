/**
 * Maximum length, in bytes, of the JSON whose objects are on the heap together. 64 pods of typical size take up a
 * quarter of it.
 */
export const maxBytes = 524_288;

/** The first rows with at most `most` bytes in total; at least one row. */
export function upTo<R>(most: number, rows: readonly R[], bytesOf: (row: R) => number): readonly R[] {
  let bytes = 0;
  const over = rows.findIndex((row, index) => {
    bytes += bytesOf(row);
    return bytes > most && index > 0;
  });
  return over < 0 ? rows : rows.slice(0, over);
}
