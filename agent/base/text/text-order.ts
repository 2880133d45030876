/** Comparison function for `sort`: by UTF-16 code units, the same in every locale. */
export const inTextOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
