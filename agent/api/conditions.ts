/** The condition of a type. An object may have none, and a list from elsewhere may hold anything. */
export const conditionOf = <T extends { readonly type: string }>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined => (Array.isArray(conditions) ? conditions.find((condition) => condition?.type === type) : undefined);

/** The same conditions with one of them replaced, or added at the end. */
export const withCondition = <T extends { readonly type: string }>(
  conditions: readonly T[] | undefined,
  condition: T,
): readonly T[] => {
  const others = Array.isArray(conditions) ? conditions : [];
  return others.some(({ type }) => type === condition.type)
    ? others.map((other) => (other.type === condition.type ? condition : other))
    : [...others, condition];
};
