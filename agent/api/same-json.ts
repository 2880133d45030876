/** Whether two values have the same JSON text. Fields in another order count as a difference. */
export const isSameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
