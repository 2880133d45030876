/** Bound of the texts, in bytes, whose objects are on the heap together. 64 pods of usual size have a quarter of it. */
export const mostBytes = 524_288;

/** The first rows that have at most `most` bytes together; at least one row. */
export function upTo<R>(most: number, rows: readonly R[], bytesOf: (row: R) => number): readonly R[] {
  let bytes = 0;
  const over = rows.findIndex((row, index) => {
    bytes += bytesOf(row);
    return bytes > most && index > 0;
  });
  return over < 0 ? rows : rows.slice(0, over);
}
