import { isMissing, readText } from "../../config/read-text.ts";
import { parseYaml } from "../../config/yaml.ts";
import { list, read, record, text, word } from "./shape.ts";
import { fits } from "./trust.ts";

/** What the owner of the board allows, regardless of signatures. */
export interface Policy {
  readonly disabled: readonly string[];
  /** Hosts to which diagnostics may be uploaded. */
  readonly uploadHosts: readonly string[];
  /** Why the file cannot be used; the fleet may then only read. */
  readonly problem: string | undefined;
}

export const openPolicy: Policy = { disabled: [], uploadHosts: [], problem: undefined };

const policyShape = record(
  { apiVersion: word("siteward.dev/v1"), kind: word("CommandPolicy") },
  {
    disabled: list(text({ pattern: /^([a-z][a-z.-]*(\.\*)?|\*)$/, most: 65 }), 64),
    diagnostics: record(
      {},
      { uploadHosts: list(text({ pattern: /^[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?$/, most: 260 }), 32) },
    ),
  },
);

export function readPolicy(file: string): Policy {
  if (isMissing(file)) return openPolicy;
  const source = readText(file);
  if ("problem" in source) return broken(`${file}: ${source.problem}`);
  const yaml = parseYaml(source.text);
  const [problem] = yaml.problems;
  if (problem) return broken(`${file}${problem.line === undefined ? "" : `:${problem.line}`}: ${problem.message}`);
  const found = read(policyShape, yaml.value, "");
  if ("problem" in found) return broken(`${file}: ${found.problem.field || "the file"} ${found.problem.message}`);
  const { disabled = [], diagnostics } = found.value;
  return { disabled, uploadHosts: diagnostics?.uploadHosts ?? [], problem: undefined };
}

const broken = (problem: string): Policy => ({ ...openPolicy, problem });

export const isDisabled = ({ disabled }: Policy, name: string): boolean => disabled.some((one) => fits(one, name));
