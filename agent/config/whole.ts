import { ConfigError } from "../base/errors.ts";
import { conflicts } from "./rules.ts";
import { type Config, settings } from "./settings.ts";
import { treeOf, type Values } from "./values.ts";

/**
 * The configuration from merged values. Throws a ConfigError with every problem: `problems` from the merge, and the
 * conflicts between settings that are not in doubt.
 */
export function wholeConfig(values: Values, problems: readonly string[]): Config {
  const config = treeOf(settings, values);
  const isSure = (path: string): boolean => !values.get(path)?.isInDoubt;
  const wrong = conflicts(config)
    .filter(({ path, against }) => [path, ...against].every(isSure))
    .map(({ path, message }) => `${values.get(path)?.origin ?? "default"}: ${path}: ${message}`);
  if (problems.length + wrong.length > 0) throw new ConfigError([...problems, ...wrong]);
  return config;
}
