import { ConfigError } from "../base/errors.ts";
import { conflicts, type SettingsConflict } from "./rules.ts";
import { type Config, settings } from "./settings.ts";
import { treeOf, type Values } from "./values.ts";

/** A configuration that cannot be used, with the conflicts between its settings. */
export class ConflictError extends ConfigError {
  readonly conflicts: readonly SettingsConflict[];

  constructor(problems: readonly string[], found: readonly SettingsConflict[]) {
    super(problems);
    this.conflicts = found;
  }
}

/**
 * The configuration from merged values. Throws a ConflictError with all problems: those of the merge (`problems`), and
 * the conflicts between settings that are not in doubt.
 */
export function wholeConfig(values: Values, problems: readonly string[]): Config {
  const config = treeOf(settings, values);
  const isSure = (path: string): boolean => !values.get(path)?.isInDoubt;
  const found = conflicts(config).filter(({ path, against }) => [path, ...against].every(isSure));
  const wrong = found.map(({ path, message }) => `${values.get(path)?.origin ?? "default"}: ${path}: ${message}`);
  if (problems.length + wrong.length > 0) throw new ConflictError([...problems, ...wrong], found);
  return config;
}
