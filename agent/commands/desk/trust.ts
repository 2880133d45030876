import type { KeyObject } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Millis } from "../../base/clock.ts";
import { readTime } from "../../base/iso-time.ts";
import { codeOf, inWords, isMissing, readText } from "../../config/read-text.ts";
import { parseYaml } from "../../config/yaml.ts";
import type { Request } from "./request.ts";
import { list, read, record, text, word } from "./shape.ts";
import { kidPattern, readPublicKey } from "./signature.ts";

export interface TrustedKey {
  readonly kid: string;
  readonly key: KeyObject;
  /** Names or prefixes: "eviction.*". */
  readonly commands: readonly string[];
  readonly scopes: readonly Request["scope"][];
  readonly notAfter: Millis | undefined;
}

export interface Trust {
  /** Once any key file exists, even an invalid one, the fleet must sign commands that require a signature. */
  readonly isInstalled: boolean;
  readonly keys: ReadonlyMap<string, TrustedKey>;
  readonly problems: readonly string[];
}

export const noTrust: Trust = { isInstalled: false, keys: new Map(), problems: [] };

const pattern = text({ pattern: /^([a-z][a-z.-]*(\.\*)?|\*)$/, most: 65 });

const limitsShape = record(
  {},
  {
    commands: list(pattern, 64),
    scopes: list(word("board", "site", "fleet"), 3),
    not_after: text({ pattern: /^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z)?$/, most: 30 }),
  },
);

/**
 * Reads the keys `<kid>.pub` and their limits `<kid>.yaml` (docs/interfaces.md#commands). A key whose limits cannot be
 * read is not trusted.
 */
export function readTrust(folder: string): Trust {
  let names: readonly string[];
  try {
    names = readdirSync(folder).sort();
  } catch (error) {
    // A folder that exists but cannot be read may hold keys.
    if (codeOf(error) === "ENOENT") return noTrust;
    return { isInstalled: true, keys: new Map(), problems: [`${folder}: ${inWords(error)}`] };
  }
  const keys = new Map<string, TrustedKey>();
  const problems: string[] = [];
  const files = names.filter((name) => name.endsWith(".pub") && !name.startsWith("."));
  for (const name of files) {
    const kid = name.slice(0, -".pub".length);
    const found = readKey(folder, kid);
    if (typeof found === "string") problems.push(found);
    else keys.set(kid, found);
  }
  return { isInstalled: files.length > 0, keys, problems };
}

function readKey(folder: string, kid: string): TrustedKey | string {
  const file = join(folder, `${kid}.pub`);
  if (!kidPattern.test(kid)) return `${file}: a key is called by up to 64 letters, digits, dots and dashes`;
  const source = readText(file);
  if ("problem" in source) return `${file}: ${source.problem}`;
  const limits = readLimits(join(folder, `${kid}.yaml`));
  if (typeof limits === "string") return limits;
  try {
    return { kid, key: readPublicKey(source.text), ...limits };
  } catch (error) {
    return `${file}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

type Limits = Omit<TrustedKey, "kid" | "key">;

const unlimited: Limits = { commands: ["*"], scopes: ["board", "site", "fleet"], notAfter: undefined };

function readLimits(file: string): Limits | string {
  if (isMissing(file)) return unlimited;
  const source = readText(file);
  if ("problem" in source) return `${file}: ${source.problem}`;
  const yaml = parseYaml(source.text);
  const [problem] = yaml.problems;
  if (problem) return `${file}: ${problem.message}`;
  const found = read(limitsShape, yaml.value, "");
  if ("problem" in found) return `${file}: ${found.problem.field || "the file"} ${found.problem.message}`;
  const { commands, scopes, not_after } = found.value;
  const notAfter = not_after === undefined ? undefined : readTime(not_after);
  if (not_after !== undefined && notAfter === undefined)
    return `${file}: /not_after must be a time such as 2027-01-01T00:00:00Z`;
  return { commands: commands ?? unlimited.commands, scopes: scopes ?? unlimited.scopes, notAfter };
}

/** Why the key may not sign this command; undefined: it may. */
export function forbids(key: TrustedKey, name: string, scope: Request["scope"], wall: Millis): string | undefined {
  if (!key.scopes.includes(scope)) return `key ${key.kid} is not for the scope ${scope}`;
  if (!key.commands.some((one) => fits(one, name))) return `key ${key.kid} is not for ${name}`;
  // A slow clock prolongs the key, a fast one ends it early. There is no better clock to consult.
  return key.notAfter !== undefined && wall > key.notAfter ? `key ${key.kid} has ended` : undefined;
}

export const fits = (pattern: string, name: string): boolean =>
  pattern === "*" || (pattern.endsWith(".*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern);
