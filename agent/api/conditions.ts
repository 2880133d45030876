/**
 * The condition of this type, if there is one. Tolerates a malformed list: `conditions` may be unchecked input from an
 * API.
 */
export const conditionOf = <T extends { readonly type: string }>(
  conditions: readonly T[] | undefined,
  type: string,
): T | undefined => (Array.isArray(conditions) ? conditions.find((condition) => condition?.type === type) : undefined);

/** The conditions with the one of the same type replaced, or with the new one added at the end. */
export const withCondition = <T extends { readonly type: string }>(
  conditions: readonly T[] | undefined,
  condition: T,
): readonly T[] => {
  const others = Array.isArray(conditions) ? conditions : [];
  return others.some(({ type }) => type === condition.type)
    ? others.map((other) => (other.type === condition.type ? condition : other))
    : [...others, condition];
};
