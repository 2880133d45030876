import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ConfigError } from "../../base/errors.ts";
import { isRecord, memberOf } from "../../base/json.ts";
import {
  described,
  dottedPath,
  list,
  mapped,
  object,
  only,
  openRecord,
  optional,
  predicateOf,
  read,
  record,
  type TypeOf,
  text,
  whole,
  yesNo,
} from "../../base/schema.ts";
import { profileProblems } from "../../config/load.ts";
import { codeOf, inWords, readText } from "../../config/read-text.ts";

const profileSchemaName = "siteward.profile/1";

const count = whole({ min: 0 });
const anyRam: readonly [number, number] = [0, Number.MAX_SAFE_INTEGER];

const range = mapped(list(count), (bounds, problems): readonly [number, number] | undefined => {
  const [from, to, more] = bounds;
  if (from !== undefined && to !== undefined && more === undefined && from < to) return [from, to];
  return problems.add({ is: "against a rule", message: "must be two whole numbers, the smaller one first" });
});

const matchMembers = {
  compatible: optional(described(list(text()), "Entries of the device tree's compatible list. Default: any board.")),
  // Ranges should begin lower than the nominal size, because a board of "2 GiB" reports some MiB less.
  ramMiB: optional(
    described(
      { ...range, json: { ...range.json, minItems: 2, maxItems: 2 } },
      "The range of RAM in MiB: the first value is included, the second is not.",
    ),
  ),
};

export const runtimeMembers = {
  oldSpaceMiB: count,
  semiSpaceMiB: count,
  jitless: yesNo,
  memoryHighMiB: count,
  memoryMaxMiB: count,
};

export const profileMembers = {
  schema: only(profileSchemaName),
  id: described(
    text({ pattern: /^[a-z0-9-]+$/, expects: "lowercase letters, digits and dashes" }),
    "The file's name without .json.",
  ),
  title: described(text(), "The board's common name."),
  /**
   * Unknown fields are refused, because a profile with a condition that this version ignores would fit too many boards.
   */
  match: record(matchMembers),
  runtime: openRecord(runtimeMembers),
  /** Checked later, together with the other layers of the configuration. */
  settings: object,
};

const profileFile = openRecord(profileMembers);

/** A firmware profile: settings for a model of board. Each is one JSON file. */
export interface Profile extends Pick<TypeOf<typeof profileFile>, "id" | "title" | "runtime"> {
  readonly match: { readonly compatible: readonly string[]; readonly ramMiB: readonly [number, number] };
  readonly settings: unknown;
  /** The file that the profile was read from. */
  readonly file: string;
}

export interface BoardFacts {
  readonly compatible: readonly string[];
  readonly ramMiB: number | undefined;
}

/**
 * The profile that names this board most specifically: by the earliest entry of the board's compatible list, then by
 * the narrowest range of RAM. A profile without compatible entries fits every board, but ranks after all others.
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
  /** Problems of the board's own profiles, one sentence each with the file and a remedy. */
  readonly problems: readonly string[];
}

/**
 * Reads the profiles in two folders: those that siteward ships, and the board's own. The board's own profile replaces
 * the shipped one with the same id. If it is invalid, it is left out and the shipped one remains in force, because a
 * typing error must not remove the board's limits. Throws ConfigError if a shipped profile is invalid.
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
    else problems.push(`${file}: ${why}; the file is ignored, and the shipped profiles apply; correct or remove it`);
  }
  return { profiles: [...found.values()], problems };
}

/**
 * Returns why one of the board's own profiles cannot be used. Its file must be named after its id, so that no id has
 * two files.
 */
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
  if (isRecord(written) && memberOf(written, "schema") !== profileSchemaName) {
    return `must contain "schema": "${profileSchemaName}"`;
  }
  const found = read(profileFile, written);
  if ("problem" in found) {
    const { path } = found.problem;
    return path.length === 0 ? "must be a JSON object" : `${dottedPath(path)} ${predicateOf(found.problem)}`;
  }
  const { id, title, match, runtime, settings } = found.value;
  const { compatible = [], ramMiB = anyRam } = match;
  return { id, title, match: { compatible, ramMiB }, runtime, settings, file };
}
