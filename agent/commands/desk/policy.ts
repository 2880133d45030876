import { list, optional, record, text, word } from "../../base/schema.ts";
import { isMissing, readText } from "../../config/read-text.ts";
import { parseYaml } from "../../config/yaml.ts";
import { readArguments } from "./arguments.ts";
import { commandPattern, fits } from "./command-pattern.ts";

/** The owner's rules for commands to this board, which apply regardless of signatures. */
export interface OwnerPolicy {
  /** Commands that are refused: names, prefixes such as "eviction.*", or "*". */
  readonly disabled: readonly string[];
  /** Hosts to which diagnostics may be uploaded, including the port if the URL has one. */
  readonly uploadHosts: readonly string[];
  /**
   * Why the policy file cannot be used, in which case the fleet may send only reads. Undefined if the file is valid or
   * absent.
   */
  readonly problem: string | undefined;
}

export const openPolicy: OwnerPolicy = { disabled: [], uploadHosts: [], problem: undefined };

const uploadHost = text({ pattern: /^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?$/, most: 260 });

const policySchema = record({
  apiVersion: word("siteward.dev/v1"),
  kind: word("CommandPolicy"),
  disabled: optional(list(commandPattern, 64)),
  diagnostics: optional(record({ uploadHosts: optional(list(uploadHost, 32)) })),
});

export function readPolicy(file: string): OwnerPolicy {
  if (isMissing(file)) return openPolicy;
  const source = readText(file);
  if ("problem" in source) return broken(`${file}: ${source.problem}`);
  const yaml = parseYaml(source.text);
  const [problem] = yaml.problems;
  if (problem) return broken(`${file}${problem.line === undefined ? "" : `:${problem.line}`}: ${problem.message}`);
  const found = readArguments(policySchema, yaml.value, "");
  if ("problem" in found) return broken(`${file}: ${found.problem.field || "the file"} ${found.problem.message}`);
  const { disabled = [], diagnostics } = found.value;
  return { disabled, uploadHosts: diagnostics?.uploadHosts ?? [], problem: undefined };
}

const broken = (problem: string): OwnerPolicy => ({ ...openPolicy, problem });

export const isDisabled = ({ disabled }: OwnerPolicy, name: string): boolean => disabled.some((one) => fits(one, name));
