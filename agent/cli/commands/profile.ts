import { dirname } from "node:path";
import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { model } from "../../board/facts.ts";
import { type Profile, profileFor } from "../../board/profile/profile.ts";
import { profileUnit, profileUnitText } from "../../board/profile/profile-unit.ts";
import { readFact } from "../../board/read-fact.ts";
import { readText } from "../../config/read-text.ts";
import { configOf, factsOf, ownProfiles, profilesOf } from "../../process/load-config.ts";
import { writeSystemFile } from "./system-file.ts";

/** Lists all profiles with their files, and marks the one in use. */
export const list: Run = async (io, { flags }) => {
  const { profiles, problems } = profilesOf(io);
  const sorted = [...profiles].sort((a, b) => (a.id < b.id ? -1 : 1));
  const own = configOf(io, undefined).profile;
  for (const problem of problems) io.stderr.line(`siteward: ${problem}`);
  const code = problems.length === 0 ? exit.ok : exit.config;
  if (flags.has("json")) {
    const shown = sorted.map(({ id, title, match, file }) => ({
      ...{ id, title, match: matchOf(match), used: id === own?.id, file },
    }));
    io.stdout.json(shown, 2);
    return code;
  }
  const wide = Math.max(0, ...sorted.map(({ id }) => id.length));
  for (const { id, title, match, file } of sorted) {
    const from = isOwn(file) ? `, from ${file}` : "";
    io.stdout.line(`${id === own?.id ? "*" : " "} ${id.padEnd(wide)}  ${title} (${ramText(match.ramMiB)})${from}`);
  }
  const shipped = sorted.find(({ file }) => !isOwn(file))?.file;
  if (shipped !== undefined)
    io.stdout.line(`The others are from ${dirname(shipped)}; put profiles of your own into ${ownProfiles}.`);
  return code;
};

const isOwn = (file: string): boolean => dirname(file) === ownProfiles;

/** Prints one profile; by default the one in use. */
export const show: Run = async (io, { words: [id] }) => {
  const profile =
    id === undefined ? configOf(io, undefined).profile : profilesOf(io).profiles.find((one) => one.id === id);
  if (!profile) return unknown(io, id);
  const { match, file: _, ...rest } = profile;
  io.stdout.json({ ...rest, match: matchOf(match) }, 2);
  return exit.ok;
};

/** Prints what this board reports about itself, and the profile that fits it. */
export const detect: Run = async (io, { flags }) => {
  const facts = factsOf(readFact);
  const profile = profileFor(facts, profilesOf(io).profiles);
  const name = model(readFact);
  if (flags.has("json")) {
    const summary = { profile: profile?.id ?? null, model: name ?? null, ramMiB: facts.ramMiB ?? null };
    io.stdout.json({ ...summary, compatible: facts.compatible });
    return exit.ok;
  }
  const rows = [
    ["Profile", profile ? `${profile.id}: ${profile.title}` : "none"],
    ["Model", name ?? "unknown"],
    ["Compatible", facts.compatible.join(", ") || "no device tree"],
    ["RAM", facts.ramMiB === undefined ? "unknown" : `${facts.ramMiB} MiB`],
  ];
  for (const [label = "", text = ""] of rows) io.stdout.line(`${label.padEnd(10)} ${text}`);
  return exit.ok;
};

/** Writes the unit's drop-in unless it is up to date. */
export const apply: Run = async (io, { flags, words: [id] }) => {
  const profile =
    id === undefined ? configOf(io, undefined).profile : profilesOf(io).profiles.find((one) => one.id === id);
  if (!profile) return unknown(io, id);
  for (const problem of profilesOf(io).problems) io.stderr.line(`siteward: ${problem}`);
  const text = profileUnitText(profile);
  if (flags.has("print")) {
    io.stdout.write(text);
    return exit.ok;
  }
  const before = readText(profileUnit);
  if ("text" in before && before.text === text) {
    io.stdout.line(`${profile.id}: ${profileUnit} is up to date`);
    return exit.ok;
  }
  writeSystemFile(profileUnit, text);
  io.stdout.write(
    `${profile.id}: ${profileUnit} written; it takes effect after: systemctl daemon-reload && systemctl restart siteward\n`,
  );
  return exit.ok;
};

function unknown(io: Io, id: string | undefined): number {
  io.stderr.write(
    id === undefined
      ? `siteward: no profile fits this board\n`
      : `siteward: there is no profile ${JSON.stringify(id)}; siteward profile list shows all of them\n`,
  );
  return id === undefined ? exit.failed : exit.usage;
}

const noEnd = (to: number): boolean => to === Number.MAX_SAFE_INTEGER;

/** The match conditions as a profile file states them, without those that every board meets. */
const matchOf = ({ compatible, ramMiB }: Profile["match"]): object => ({
  ...(compatible.length > 0 && { compatible }),
  ...(!(ramMiB[0] === 0 && noEnd(ramMiB[1])) && { ramMiB }),
});

const ramText = ([from, to]: readonly [number, number]): string =>
  noEnd(to) ? (from === 0 ? "any RAM" : `${from} MiB of RAM and more`) : `${from} to ${to} MiB of RAM`;
