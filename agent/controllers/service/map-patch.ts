type Texts = Readonly<Record<string, string>>;

/**
 * `mapPatch` for many objects that share their maps. Compares each pair of maps only once, because a map may have a
 * thousand names.
 */
export function sharedMapPatch(): typeof mapPatch {
  const made = new Map<Texts | undefined, Map<Texts, ReturnType<typeof mapPatch>>>();
  return (before, after) => {
    const ofBefore = made.get(before) ?? new Map<Texts, ReturnType<typeof mapPatch>>();
    made.set(before, ofBefore);
    const patch = ofBefore.get(after) ?? mapPatch(before, after);
    ofBefore.set(after, patch);
    return patch;
  };
}

/** The merge patch that turns one map of strings into another; null removes a key. */
export const mapPatch = (before: Texts | undefined, after: Texts): Readonly<Record<string, string | null>> => ({
  ...Object.fromEntries(
    Object.keys(before ?? {}).flatMap((name) => (Object.hasOwn(after, name) ? [] : [[name, null]])),
  ),
  ...Object.fromEntries(Object.entries(after).filter(([name, value]) => before?.[name] !== value)),
});

/** Whether two maps of strings are equal. A missing map equals an empty one. */
export const isSameMap = (a: Texts | undefined, b: Texts | undefined): boolean =>
  Object.keys(mapPatch(a, b ?? {})).length === 0;

export const pick = (map: Texts, ...names: readonly string[]): Texts =>
  Object.fromEntries(Object.entries(map).filter(([name]) => names.includes(name)));

export const without = (map: Texts | undefined, ...names: readonly string[]): Texts =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([name]) => !names.includes(name)));
