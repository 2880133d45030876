import type { KeyObject } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Clock, elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { list, optional, record, text, word } from "../../base/schema.ts";
import { readTime } from "../../base/time/iso-time.ts";
import { codeOf, inWords, isMissing, readText } from "../../config/read-text.ts";
import { parseYaml } from "../../config/yaml.ts";
import { readArguments } from "./arguments.ts";
import { commandPattern, fits } from "./command-pattern.ts";
import type { CommandRequest } from "./request.ts";
import { kidPattern, readPublicKey } from "./signature.ts";

export interface TrustedKey {
  readonly kid: string;
  readonly key: KeyObject;
  /** Commands that the key may sign: names, prefixes such as "eviction.*", or "*". */
  readonly commands: readonly string[];
  readonly scopes: readonly CommandRequest["scope"][];
  /** Wall time after which the key is not accepted; undefined if it does not expire. */
  readonly notAfter: Millis | undefined;
}

export interface Trust {
  /** Whether a key file exists, even an invalid one; if so, fleet commands that change something must be signed. */
  readonly isInstalled: boolean;
  /** The trusted keys by key id. */
  readonly keys: ReadonlyMap<string, TrustedKey>;
  readonly problems: readonly UnusableFile[];
}

/** A file or folder of trusted keys that cannot be used. */
export interface UnusableFile {
  readonly file: string;
  readonly why: string;
}

export const noTrust: Trust = { isInstalled: false, keys: new Map(), problems: [] };

const limitsSchema = record({
  commands: optional(list(commandPattern, 64)),
  scopes: optional(list(word("board", "site", "fleet"), 3)),
  not_after: optional(text({ pattern: /^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z)?$/, most: 30 })),
});

/**
 * Reads the keys `<kid>.pub` and their limits `<kid>.yaml` (docs/interfaces.md#commands). A key whose limits cannot be
 * read is not trusted.
 */
export function readTrust(folder: string): Trust {
  let names: readonly string[];
  try {
    names = readdirSync(folder).sort();
  } catch (error) {
    // A folder that exists but cannot be read may contain keys.
    if (codeOf(error) === "ENOENT") return noTrust;
    return { isInstalled: true, keys: new Map(), problems: [{ file: folder, why: inWords(error) }] };
  }
  const keys = new Map<string, TrustedKey>();
  const problems: UnusableFile[] = [];
  const files = names.filter((name) => name.endsWith(".pub") && !name.startsWith("."));
  for (const name of files) {
    const kid = name.slice(0, -".pub".length);
    const found = readKey(folder, kid);
    if ("why" in found) problems.push(found);
    else keys.set(kid, found);
  }
  return { isInstalled: files.length > 0, keys, problems };
}

/**
 * Reads the keys at most once a second, regardless of how often they are requested, because a client of the broker may
 * send settings continuously.
 */
export function trustReader(clock: Clock, folder: string): () => Trust {
  let last: { readonly at: Instant; readonly trust: Trust } | undefined;
  return () => {
    const at = clock.now();
    if (last === undefined || elapsed(last.at, at) >= readAgainAfter) last = { at, trust: readTrust(folder) };
    return last.trust;
  };
}

const readAgainAfter: Millis = 1000;

function readKey(folder: string, kid: string): TrustedKey | UnusableFile {
  const file = join(folder, `${kid}.pub`);
  if (!kidPattern.test(kid))
    return { file, why: "a key's name has up to 64 letters, digits, dots, dashes and underscores" };
  const source = readText(file);
  if ("problem" in source) return { file, why: source.problem };
  const limits = readLimits(join(folder, `${kid}.yaml`));
  if ("why" in limits) return limits;
  try {
    return { kid, key: readPublicKey(source.text), ...limits };
  } catch (error) {
    return { file, why: error instanceof Error ? error.message : String(error) };
  }
}

type Limits = Omit<TrustedKey, "kid" | "key">;

const unlimited: Limits = { commands: ["*"], scopes: ["board", "site", "fleet"], notAfter: undefined };

function readLimits(file: string): Limits | UnusableFile {
  if (isMissing(file)) return unlimited;
  const source = readText(file);
  if ("problem" in source) return { file, why: source.problem };
  const yaml = parseYaml(source.text);
  const [problem] = yaml.problems;
  if (problem) return { file, why: problem.message };
  const found = readArguments(limitsSchema, yaml.value, "");
  if ("problem" in found) return { file, why: `${found.problem.field || "the file"} ${found.problem.message}` };
  const { commands, scopes, not_after } = found.value;
  const notAfter = not_after === undefined ? undefined : readTime(not_after);
  if (not_after !== undefined && notAfter === undefined)
    return { file, why: "/not_after must be a time such as 2027-01-01T00:00:00Z" };
  return { commands: commands ?? unlimited.commands, scopes: scopes ?? unlimited.scopes, notAfter };
}

/** Why the key is not allowed to sign this command; undefined if it is. */
export function forbids(
  key: TrustedKey,
  name: string,
  scope: CommandRequest["scope"],
  wall: Millis,
): string | undefined {
  if (!key.scopes.includes(scope)) return `key ${key.kid} is not allowed to sign commands for the scope ${scope}`;
  if (!key.commands.some((one) => fits(one, name))) return `key ${key.kid} is not allowed to sign ${name}`;
  // A board with a slow clock accepts the key for too long, and one with a fast clock not long enough, but there is no
  // better clock.
  return key.notAfter !== undefined && wall > key.notAfter ? `key ${key.kid} has expired` : undefined;
}
