/**
 * The same items, reordered so that their groups take turns, because the author of one group may add any number of items.
 * An item of several groups comes at the earliest turn of one of them; items with the same turn keep their order.
 */
export function alternating<T>(items: readonly T[], groupsOf: (item: T) => readonly string[]): readonly T[] {
  const turns = new Map<string, number>();
  const turnOf = (group: string): number => turns.get(group) ?? 0;
  return items
    .map((item) => {
      const groups = groupsOf(item);
      const turn = groups.reduce((least, group) => Math.min(least, turnOf(group)), Number.MAX_VALUE);
      for (const group of groups) turns.set(group, turnOf(group) + 1);
      return { item, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ item }) => item);
}
