/** This many characters of text weigh as much as one value. */
const charactersPerValue = 20;

/**
 * A rough measure of an object's size on the heap: the number of its values, including those of nested objects, and
 * their text.
 */
export function heapWeight(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / charactersPerValue;
  if (typeof value !== "object" || value === null) return 1;
  let weight = 1;
  if (Array.isArray(value)) {
    for (const item of value) weight += heapWeight(item);
    return weight;
  }
  for (const name in value) weight += heapWeight(value[name as keyof typeof value]);
  return weight;
}
