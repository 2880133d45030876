import { memberOf } from "../base/json.ts";
import { nearest } from "../base/nearest.ts";
import type { Entries, Infer, Section, Setting } from "./schema.ts";

/** A setting's value and its origin: "default", "siteward.yaml:12", "SITEWARD_LOG_LEVEL". */
export interface Origin {
  readonly value: unknown;
  readonly origin: string;
  /** An unusable value was written over it, or perhaps meant for it: comparisons with other settings prove nothing. */
  readonly isInDoubt?: true;
}

/** Values by dotted path. Layers are merged here; the typed configuration is made from the result. */
export type Values = Map<string, Origin>;

/** Where a layer's values were written, for origins and for problems. */
export interface Layer {
  where(path: readonly string[]): string;
}

/** Every setting with its path, in the order of the list. */
export function* settingsIn(
  section: Section<Entries>,
  path: readonly string[] = [],
): IterableIterator<{ readonly path: string; readonly setting: Setting<unknown> }> {
  for (const [name, entry] of Object.entries(section.entries)) {
    if (entry.kind === "section") yield* settingsIn(entry, [...path, name]);
    else yield { path: [...path, name].join("."), setting: entry };
  }
}

/** A configuration's value at a dotted path. */
export const valueAt = (config: unknown, path: string): unknown => path.split(".").reduce<unknown>(memberOf, config);

export function defaultsOf(section: Section<Entries>): Values {
  const values: Values = new Map();
  for (const { path, setting } of settingsIn(section)) values.set(path, { value: setting.default, origin: "default" });
  return values;
}

/** Merges a tree from YAML or JSON into the values. Invalid entries are left out and reported. */
export function layTree(values: Values, root: Section<Entries>, tree: unknown, layer: Layer): readonly string[] {
  const problems: string[] = [];
  const doubted: string[] = [];
  const visit = (section: Section<Entries>, written: unknown, path: readonly string[]): void => {
    // A section whose settings are all commented out is null in YAML.
    if (written === null) return;
    if (typeof written !== "object" || Array.isArray(written)) {
      const inside = Object.keys(section.entries).join(", ");
      problems.push(`${layer.where(path)}: ${nameOf(path)} is a section with ${inside}, not ${quoted(written)}`);
      doubted.push(path.join("."));
      return;
    }
    for (const [name, value] of Object.entries(written)) {
      const at = [...path, name];
      const entry = Object.hasOwn(section.entries, name) ? section.entries[name] : undefined;
      if (!entry) {
        const meant = likelyMeant(root, path, name);
        const suggestion = meant === undefined ? "" : `; did you mean ${meant}?`;
        problems.push(`${layer.where(at)}: ${at.join(".")} is not a setting${suggestion}`);
        if (meant !== undefined) doubted.push(meant);
      } else if (entry.kind === "section") visit(entry, value, at);
      else lay(values, at.join("."), entry.parse(value), layer.where(at), entry, value, problems);
    }
  };
  visit(root, tree, []);
  for (const path of doubted) doubt(values, path);
  return problems;
}

/** Marks a setting, a section, or with "" everything as in doubt, until a later layer sets it again. */
export function doubt(values: Values, path: string): void {
  for (const [at, origin] of values) {
    if (path === "" || at === path || at.startsWith(`${path}.`)) values.set(at, { ...origin, isInDoubt: true });
  }
}

/** Merges one value, or reports it as invalid. */
export function lay(
  values: Values,
  path: string,
  parsed: unknown,
  origin: string,
  setting: Setting<unknown>,
  written: unknown,
  problems: string[],
): void {
  if (parsed !== undefined) values.set(path, { value: parsed, origin });
  else {
    const given = written === null ? "has no value" : `cannot be ${quoted(written)}`;
    problems.push(`${origin}: ${path} ${given}; it takes ${setting.accepts}`);
    doubt(values, path);
  }
}

/** The typed configuration. Every value in `values` was parsed by its own setting. */
export function treeOf<E extends Entries>(section: Section<E>, values: Values): Infer<Section<E>> {
  const build = (inner: Section<Entries>, path: readonly string[]): object =>
    Object.fromEntries(
      Object.entries(inner.entries).map(([name, entry]) => {
        const at = [...path, name];
        return [name, entry.kind === "section" ? build(entry, at) : values.get(at.join("."))?.value];
      }),
    );
  return build(section, []) as Infer<Section<E>>;
}

/** A value as it was written, short enough for a sentence. */
export function quoted(written: unknown): string {
  const shown = JSON.stringify(written) ?? String(written);
  return shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
}

const nameOf = (path: readonly string[]): string => (path.length === 0 ? "the file" : path.join("."));

/** A similar name in the same section; otherwise a setting of that name in another section. */
function likelyMeant(root: Section<Entries>, path: readonly string[], name: string): string | undefined {
  let section: Section<Entries> | undefined = root;
  for (const step of path) {
    const inner: Entries[string] | undefined = section?.entries[step];
    section = inner?.kind === "section" ? inner : undefined;
  }
  const similar = nearest(name, Object.keys(section?.entries ?? {}));
  if (similar) return [...path, similar].join(".");
  for (const { path: other } of settingsIn(root)) {
    if (other.endsWith(`.${name}`)) return other;
  }
  return undefined;
}
