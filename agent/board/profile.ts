import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ConfigError } from "../base/errors.ts";
import { isRecord, type JsonRecord } from "../base/json.ts";
import { profileProblems } from "../config/load.ts";
import { codeOf, inWords, readText } from "../config/read-text.ts";

/** A firmware profile: some settings, and the boards that it fits. One JSON file each. */
export interface Profile {
  readonly id: string;
  readonly title: string;
  readonly match: {
    /** Entries of the device tree's compatible list. None: any board. */
    readonly compatible: readonly string[];
    /** From, up to but not including. A board of "2 GiB" reports some MiB less. */
    readonly ramMiB: readonly [number, number];
  };
  /** Values needed before the program starts; the unit's drop-in is written from them. */
  readonly runtime: Runtime;
  /** Checked with the rest of the configuration. */
  readonly settings: unknown;
  /** The file that it was read from. */
  readonly file: string;
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

export interface Profiles {
  readonly profiles: readonly Profile[];
  /** Problems of this board's own profiles: each with its file and a remedy. */
  readonly problems: readonly string[];
}

/**
 * The profiles that siteward ships, and those of this board's own, if any: one of these replaces the shipped one of the
 * same id. An invalid one is left out, and the shipped one stays in force: a typing mistake must not take the board's
 * limits away. Throws if a shipped one is invalid.
 */
export function readProfiles(shipped: string, own: string): Profiles {
  const found = new Map<string, Profile>();
  const broken: string[] = [];
  for (const file of filesIn(shipped, broken)) {
    const profile = readProfile(file);
    if (typeof profile === "string") broken.push(`${file}: ${profile}`);
    else found.set(profile.id, profile);
  }
  if (broken.length > 0) throw new ConfigError(broken);
  const problems: string[] = [];
  for (const file of filesIn(own, problems)) {
    const profile = readProfile(file);
    const why = typeof profile === "string" ? profile : ownProblem(profile);
    if (typeof profile !== "string" && why === undefined) found.set(profile.id, profile);
    else
      problems.push(`${file}: ${why}; correct it or take it away: it is left out, and what siteward ships is in force`);
  }
  return { profiles: [...found.values()], problems };
}

/** Two files with one id would be a forgotten copy, and chance would decide which one counts. */
function ownProblem(profile: Profile): string | undefined {
  const { id, file } = profile;
  if (basename(file) !== `${id}.json`) return `its id is ${id}, so it must be called ${id}.json`;
  const problems = profileProblems(profile);
  return problems.length === 0 ? undefined : problems.join("; ");
}

function filesIn(folder: string, problems: string[]): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".json") && !name.endsWith(".schema.json") && !name.startsWith("."))
      .sort()
      .map((name) => join(folder, name));
  } catch (error) {
    if (codeOf(error) !== "ENOENT") problems.push(`${folder}: ${inWords(error)}`);
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
  return profileFrom(written, file);
}

/** Checks a parsed profile; returns the problem as text if it is invalid. */
export function profileFrom(written: unknown, file: string): Profile | string {
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
  return { id, title, match: { compatible, ramMiB: [from, to] }, runtime, settings, file };
}

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isList = <T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] =>
  Array.isArray(value) && value.every(is);

const isRuntime = (value: unknown): value is Runtime & JsonRecord =>
  isRecord(value) &&
  [value.oldSpaceMiB, value.semiSpaceMiB, value.memoryHighMiB, value.memoryMaxMiB].every(isCount) &&
  typeof value.jitless === "boolean";
