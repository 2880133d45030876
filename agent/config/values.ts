import { memberOf } from "../base/json.ts";
import { nearest } from "../base/text/nearest.ts";
import { scrubber } from "../base/text/scrubber.ts";
import type { Entries, Infer, Section, Setting } from "./schema.ts";

export interface Origin {
  readonly value: unknown;
  /** The layer that set the value: "default", "siteward.yaml:12", "SITEWARD_LOG_LEVEL". */
  readonly origin: string;
  /**
   * True if a later layer has an invalid value for this setting, or a misspelt name that probably means it. Its
   * conflicts with other settings are then not reported.
   */
  readonly isInDoubt?: true;
}

/** The merged values of all layers, by dotted path. */
export type Values = Map<string, Origin>;

export interface Layer {
  /** Describes where a value was set, for origins and problems: "siteward.yaml:12". */
  where(path: readonly string[]): string;
}

/** Every setting with its dotted path, in the order of the list. */
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

/** Merges a tree from YAML or JSON into the values. Leaves invalid entries out and returns their problems. */
export function mergeTree(values: Values, root: Section<Entries>, tree: unknown, layer: Layer): readonly string[] {
  const problems: string[] = [];
  const doubted: string[] = [];
  const visit = (section: Section<Entries>, written: unknown, path: readonly string[]): void => {
    // In YAML, a section whose settings are all commented out is null.
    if (written === null) return;
    if (typeof written !== "object" || Array.isArray(written)) {
      const inside = Object.keys(section.entries).join(", ");
      problems.push(`${layer.where(path)}: ${nameOf(path)} is a section with ${inside}, not ${quote(written)}`);
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

/** Marks a setting or all settings of a section ("" for all) as in doubt, until a later layer sets them. */
export function doubt(values: Values, path: string): void {
  for (const [at, origin] of values) {
    if (path === "" || at === path || at.startsWith(`${path}.`)) values.set(at, { ...origin, isInDoubt: true });
  }
}

/** Merges one value. If `parsed` is undefined, adds a problem instead. */
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
    const given = written === null ? "has no value" : `cannot be ${quote(written)}`;
    problems.push(`${origin}: ${path} ${given}; it takes ${setting.accepts}`);
    doubt(values, path);
  }
}

/**
 * Converts the values to the typed configuration. The cast is safe, because each value was parsed by its own setting.
 */
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

/** A value as JSON, without secrets and truncated to 60 characters, for messages. */
export function quote(written: unknown): string {
  const shown = withoutSecrets(JSON.stringify(written) ?? String(written));
  return shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
}

/** Applied before a value is truncated, because a password in an address is recognised by the @ that follows it. */
const withoutSecrets = scrubber([]);

const nameOf = (path: readonly string[]): string => (path.length === 0 ? "the file" : path.join("."));

/**
 * A similar name in the same section, or a setting with the same name in another section; undefined if there is
 * neither.
 */
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
