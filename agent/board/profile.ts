import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { isRecord, type JsonRecord } from "../base/json.ts";
import { readText } from "../config/read-text.ts";

/** A firmware profile: a part of the configuration, and which boards it fits. One JSON file for each. */
export interface Profile {
  readonly id: string;
  readonly title: string;
  readonly match: {
    /** Entries of the device tree's compatible list. None: any board. */
    readonly compatible: readonly string[];
    /** From, up to but not including. A board of "2 GiB" reports some MiB less. */
    readonly ramMiB: readonly [number, number];
  };
  /** What has to be known before the program starts; the unit's drop-in is written from it. */
  readonly runtime: Runtime;
  /** Checked with the rest of the configuration. */
  readonly settings: unknown;
}

export interface Runtime {
  readonly oldSpaceMiB: number;
  readonly semiSpaceMiB: number;
  readonly jitless: boolean;
  readonly memoryHighMiB: number;
  readonly memoryMaxMiB: number;
}

export interface BoardFacts {
  readonly compatible: readonly string[];
  readonly ramMiB: number | undefined;
}

export const profileSchemaName = "siteward.profile/1";

/**
 * The profile that names this board most specifically: by the earliest entry of the board's compatible list, then by
 * the narrowest range of RAM. A profile without compatible entries fits every board, after all others.
 */
export function profileFor(board: BoardFacts, profiles: readonly Profile[]): Profile | undefined {
  const rank = ({ match }: Profile): readonly [number, number] | undefined => {
    const [from, to] = match.ramMiB;
    const ram = board.ramMiB;
    if (ram === undefined ? from > 0 : ram < from || ram >= to) return undefined;
    if (match.compatible.length === 0) return [board.compatible.length, to - from];
    const at = board.compatible.findIndex((one) => match.compatible.includes(one));
    return at < 0 ? undefined : [at, to - from];
  };
  let best: { readonly profile: Profile; readonly rank: readonly [number, number] } | undefined;
  for (const profile of profiles) {
    const own = rank(profile);
    if (own && (!best || own[0] < best.rank[0] || (own[0] === best.rank[0] && own[1] < best.rank[1])))
      best = { profile, rank: own };
  }
  return best?.profile;
}

/** All profiles of some folders; one of a later folder replaces one of the same id. Folders need not be there. */
export function readProfiles(folders: readonly string[]): readonly Profile[] {
  const found = new Map<string, Profile>();
  const problems: string[] = [];
  for (const folder of folders) {
    for (const name of namesIn(folder)) {
      const file = join(folder, name);
      const profile = readProfile(file);
      if (typeof profile === "string") problems.push(`${file}: ${profile}`);
      else found.set(profile.id, profile);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return [...found.values()];
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json") && !name.endsWith(".schema.json") && !name.startsWith("."))
      .sort();
  } catch {
    return [];
  }
}

function readProfile(file: string): Profile | string {
  const source = readText(file);
  if ("problem" in source) return source.problem;
  let written: unknown;
  try {
    written = JSON.parse(source.text);
  } catch (error) {
    return `is not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  return profileFrom(written);
}

/** Checks what was read; answers with what is wrong where it is no profile. */
export function profileFrom(written: unknown): Profile | string {
  if (!isRecord(written)) return "must hold one object";
  const { schema, id, title, match, runtime, settings } = written;
  if (schema !== profileSchemaName) return `must say "schema": "${profileSchemaName}"`;
  if (typeof id !== "string" || !/^[a-z0-9-]+$/.test(id)) return "id must be small letters, digits and dashes";
  if (typeof title !== "string") return "title must be text";
  if (!isRecord(match)) return "match must be an object";
  const { compatible = [], ramMiB = [0, Number.MAX_SAFE_INTEGER] } = match;
  if (!isList(compatible, isText)) return "match.compatible must be a list of texts";
  if (!isList(ramMiB, isCount)) return "match.ramMiB must be two whole numbers";
  const [from, to, more] = ramMiB;
  if (from === undefined || to === undefined || more !== undefined || from >= to)
    return "match.ramMiB must be two whole numbers, the smaller one first";
  if (!isRuntime(runtime)) return "runtime must give oldSpaceMiB, semiSpaceMiB, jitless, memoryHighMiB, memoryMaxMiB";
  if (!isRecord(settings)) return "settings must be an object";
  return { id, title, match: { compatible, ramMiB: [from, to] }, runtime, settings };
}

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isList = <T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] =>
  Array.isArray(value) && value.every(is);

const isRuntime = (value: unknown): value is Runtime & JsonRecord =>
  isRecord(value) &&
  [value.oldSpaceMiB, value.semiSpaceMiB, value.memoryHighMiB, value.memoryMaxMiB].every(isCount) &&
  typeof value.jitless === "boolean";
