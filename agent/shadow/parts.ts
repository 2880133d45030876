import { isJsonArray, isJsonObject, isSameJson, type JsonObject, type JsonValue, withMember } from "../api/json.ts";
import type { KubeObject } from "../api/meta.ts";

/**
 * A part of an object that different writers change independently of each other: a taint, a condition, a label or an
 * annotation; otherwise a whole member of its section.
 */
export interface Part {
  readonly section: "metadata" | "spec" | "status";
  readonly member: string;
  /** What distinguishes the part among those of the same member; undefined if the part is the whole member. */
  readonly name: string | undefined;
}

/** A part that differs between two states of an object; undefined where the part is missing. */
export interface PartChange extends Part {
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

const sections = ["metadata", "spec", "status"] as const;

/** Members of `metadata` that the API server sets with every write. */
const ofServer: ReadonlySet<string> = new Set(["resourceVersion", "generation", "managedFields"]);

/** Names the items of the lists whose items are parts. */
const itemNames: Readonly<Record<string, (item: JsonObject) => string>> = {
  taints: ({ key, effect }) => `${String(key)}:${String(effect)}`,
  conditions: ({ type }) => String(type),
};

const isMap = ({ section, member }: Part): boolean =>
  section === "metadata" && (member === "labels" || member === "annotations");

/** The parts that differ, in the order of the objects' members. */
export function changesBetween(before: KubeObject, after: KubeObject): readonly PartChange[] {
  return sections.flatMap((section) => {
    const [old, young] = [sectionOf(before, section), sectionOf(after, section)];
    return namesIn(old, young).flatMap((member): readonly PartChange[] => {
      const ignored = section === "metadata" && ofServer.has(member);
      if (ignored || isSameJson(old[member], young[member])) return [];
      const [was, is] = [namedParts(section, member, old[member]), namedParts(section, member, young[member])];
      if (was === undefined || is === undefined)
        return [{ section, member, name: undefined, before: old[member], after: young[member] }];
      return [...new Set([...was.keys(), ...is.keys()])].flatMap((name) =>
        isSameJson(was.get(name), is.get(name))
          ? []
          : [{ section, member, name, before: was.get(name), after: is.get(name) }],
      );
    });
  });
}

/** The value of a part; undefined if the object does not have it. */
export function partOf(object: KubeObject, { section, member, name }: Part): JsonValue | undefined {
  const whole = sectionOf(object, section)[member];
  return name === undefined ? whole : namedParts(section, member, whole)?.get(name);
}

/** The object with a part replaced, or without it if `value` is undefined. Other parts keep their order. */
export function withPart<T extends KubeObject>(object: T, part: Part, value: JsonValue | undefined): T {
  const { section, member, name } = part;
  const before = sectionOf(object, section);
  const whole = name === undefined ? value : withNamed(before[member], part, name, value);
  // A part of an object's own section: the type of the object does not change.
  return { ...object, [section]: withMember(before, member, whole) } as T;
}

function withNamed(whole: JsonValue | undefined, part: Part, name: string, value: JsonValue | undefined): JsonValue {
  if (isMap(part)) return withMember(isJsonObject(whole) ? whole : {}, name, value);
  const nameOf = itemNames[part.member];
  const items = isJsonArray(whole) ? whole : [];
  const isNamed = (item: JsonValue): boolean => isJsonObject(item) && nameOf?.(item) === name;
  if (value === undefined) return items.filter((item) => !isNamed(item));
  return items.some(isNamed) ? items.map((item) => (isNamed(item) ? value : item)) : [...items, value];
}

/** The named parts of a member; undefined if it has none, or if its value has another form. */
function namedParts(
  section: Part["section"],
  member: string,
  whole: JsonValue | undefined,
): ReadonlyMap<string, JsonValue> | undefined {
  if (isMap({ section, member, name: undefined })) {
    if (whole === undefined) return new Map();
    return isJsonObject(whole) ? new Map(Object.entries(whole)) : undefined;
  }
  const nameOf = itemNames[member];
  if (nameOf === undefined) return undefined;
  if (whole === undefined) return new Map();
  if (!isJsonArray(whole) || !whole.every(isJsonObject)) return undefined;
  return new Map(whole.map((item) => [nameOf(item), item]));
}

function sectionOf(object: KubeObject, section: Part["section"]): JsonObject {
  // Objects come from JSON; their types leave out members that no rule reads.
  const found = (object as unknown as JsonObject)[section];
  return isJsonObject(found) ? found : {};
}

const namesIn = (a: JsonObject, b: JsonObject): readonly string[] => [
  ...new Set([...Object.keys(a), ...Object.keys(b)]),
];
