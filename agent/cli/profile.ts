import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { model } from "../board/facts.ts";
import { type Profile, profileFor } from "../board/profile.ts";
import { profileUnit, profileUnitText } from "../board/profile-unit.ts";
import { readFact } from "../board/read-fact.ts";
import { replaceDurably } from "../config/durable-file.ts";
import { codeOf, readText } from "../config/read-text.ts";
import { exit } from "./exit-codes.ts";
import type { Io, Run } from "./io.ts";
import { configOf, factsOf, profilesOf } from "./load-config.ts";

/** All profiles there are, the one that is used marked. */
export const list: Run = async (io, { flags }) => {
  const profiles = [...profilesOf(io)].sort((a, b) => (a.id < b.id ? -1 : 1));
  const own = configOf(io, undefined).profile;
  if (flags.has("json")) {
    const shown = profiles.map(({ id, title, match }) => ({ id, title, match: matchOf(match), used: id === own?.id }));
    io.stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
    return exit.ok;
  }
  const wide = Math.max(0, ...profiles.map(({ id }) => id.length));
  for (const { id, title, match } of profiles)
    io.stdout.write(`${id === own?.id ? "*" : " "} ${id.padEnd(wide)}  ${title} (${ramText(match.ramMiB)})\n`);
  return exit.ok;
};

/** One profile as it is written; without a name the one that is used. */
export const show: Run = async (io, { words: [id] }) => {
  const profile = id === undefined ? configOf(io, undefined).profile : profilesOf(io).find((one) => one.id === id);
  if (!profile) return unknown(io, id);
  const { match, ...rest } = profile;
  io.stdout.write(`${JSON.stringify({ ...rest, match: matchOf(match) }, undefined, 2)}\n`);
  return exit.ok;
};

/** What this board says of itself, and which profile fits that. */
export const detect: Run = async (io, { flags }) => {
  const facts = factsOf(readFact);
  const profile = profileFor(facts, profilesOf(io));
  const name = model(readFact);
  if (flags.has("json")) {
    const told = { profile: profile?.id ?? null, model: name ?? null, ramMiB: facts.ramMiB ?? null };
    io.stdout.write(`${JSON.stringify({ ...told, compatible: facts.compatible })}\n`);
    return exit.ok;
  }
  const rows = [
    ["Profile", profile ? `${profile.id}: ${profile.title}` : "none"],
    ["Model", name ?? "not told"],
    ["Compatible", facts.compatible.join(", ") || "no device tree"],
    ["RAM", facts.ramMiB === undefined ? "not told" : `${facts.ramMiB} MiB`],
  ];
  io.stdout.write(`${rows.map(([label = "", text = ""]) => `${label.padEnd(10)} ${text}`).join("\n")}\n`);
  return exit.ok;
};

/** Writes the unit's drop-in, where it does not say the same already. */
export const apply: Run = async (io, { flags, words: [id] }) => {
  const profile = id === undefined ? configOf(io, undefined).profile : profilesOf(io).find((one) => one.id === id);
  if (!profile) return unknown(io, id);
  const text = profileUnitText(profile);
  if (flags.has("print")) {
    io.stdout.write(text);
    return exit.ok;
  }
  const before = readText(profileUnit);
  if ("text" in before && before.text === text) {
    io.stdout.write(`${profile.id}: ${profileUnit} says so already\n`);
    return exit.ok;
  }
  try {
    mkdirSync(dirname(profileUnit), { recursive: true, mode: 0o755 });
    replaceDurably(profileUnit, text, 0o644);
  } catch (error) {
    const hint = codeOf(error) === "EACCES" || codeOf(error) === "EPERM" ? "\n  Run it as root." : "";
    const why = error instanceof Error ? error.message : String(error);
    io.stderr.write(`siteward: ${profileUnit} cannot be written: ${why}${hint}\n`);
    return exit.failed;
  }
  io.stdout.write(
    `${profile.id}: ${profileUnit} written; in force after: systemctl daemon-reload && systemctl restart siteward\n`,
  );
  return exit.ok;
};

function unknown(io: Io, id: string | undefined): number {
  io.stderr.write(
    id === undefined
      ? `siteward: no profile fits this board\n`
      : `siteward: there is no profile ${JSON.stringify(id)}; siteward profile list names them\n`,
  );
  return id === undefined ? exit.failed : exit.usage;
}

const noEnd = (to: number): boolean => to === Number.MAX_SAFE_INTEGER;

/** As it is written in a profile: without what fits everything. */
const matchOf = ({ compatible, ramMiB }: Profile["match"]): object => ({
  ...(compatible.length > 0 && { compatible }),
  ...(!(ramMiB[0] === 0 && noEnd(ramMiB[1])) && { ramMiB }),
});

const ramText = ([from, to]: readonly [number, number]): string =>
  noEnd(to) ? (from === 0 ? "any RAM" : `${from} MiB of RAM and more`) : `${from} to ${to} MiB of RAM`;
