type Texts = Readonly<Record<string, string>>;

/** The merge patch that turns one map of strings into another; null removes a member. */
export const mapPatch = (before: Texts | undefined, after: Texts): Readonly<Record<string, string | null>> => ({
  ...Object.fromEntries(
    Object.keys(before ?? {}).flatMap((name) => (Object.hasOwn(after, name) ? [] : [[name, null]])),
  ),
  ...Object.fromEntries(Object.entries(after).filter(([name, value]) => before?.[name] !== value)),
});

/** A missing map equals an empty one. */
export const isSameMap = (a: Texts | undefined, b: Texts | undefined): boolean =>
  Object.keys(mapPatch(a, b ?? {})).length === 0;

export const without = (map: Texts | undefined, ...names: readonly string[]): Texts =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([name]) => !names.includes(name)));
