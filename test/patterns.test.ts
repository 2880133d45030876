import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { settings } from "../agent/config/settings.ts";
import { type Attack, attacksOn, textOf } from "./support/patterns/pattern-attacks.ts";
import { patternsIn, type WrittenPattern } from "./support/patterns/patterns-in-source.ts";

/**
 * No regular expression of the program takes more than linear time, whatever text it is given: each is found in the sources and
 * attacked. One that is built at run time stands here, as it is built; one that is slow and harmless, because its text is short
 * or our own, with the longest text that it is given.
 */
const root = path.resolve(import.meta.dirname, "..");
const sources = [
  "agent",
  "simulator",
  "storage",
  "node_modules/js-yaml/dist/js-yaml.mjs",
  "node_modules/node-cron/dist/node-cron.js",
  "node_modules/node-cron/dist/_shared.js",
  "node_modules/mqtt-packet",
  "node_modules/mqtt/build/lib",
  "node_modules/tar-stream",
  // Not systeminformation: it reads what this host's own tools print, for one command that a person waits for.
];

/** By file and the line that builds them. */
const built: Readonly<Record<string, RegExp>> = {
  'agent/board/facts.ts: RegExp(`^${field}:\\\\s+(\\\\d+) kB$`, "m").exec(text ?? "")?.[1];': /^VmRSS:\s+(\d+) kB$/m,
  'simulator/boards/agent-process.ts: RegExp(`^${field}:\\\\s+(\\\\d+) kB`, "m").exec(text)?.[1]) * 1024;':
    /^VmRSS:\s+(\d+) kB/m,
  "agent/config/settings.ts: RegExp(`^ *${requirement}(, *${requirement})*$`),": new RegExp(
    String(settings.entries.site.entries.nodeSelector.json.pattern),
  ),
  "simulator/site-api/objects/names.ts: RegExp(`^${label}(\\\\.${label})*$`),":
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  "simulator/site-api/objects/names.ts: RegExp(`^${label}$`),": /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  "simulator/site-api/objects/names.ts: RegExp(`^${qualified}$`);": /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/,
  "simulator/site-api/objects/names.ts: RegExp(`^(${qualified})?$`);": /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  "agent/upkeep/zone-rule.ts: RegExp(`^${name}(${hours})(?:${name}(${hours})?(?:,([^,]+),([^,]+))?)?$`);":
    /^(?:<[^>]+>|[A-Za-z]{3,})([+-]?\d{1,3}(?::\d{1,2}){0,2})(?:(?:<[^>]+>|[A-Za-z]{3,})([+-]?\d{1,3}(?::\d{1,2}){0,2})?(?:,([^,]+),([^,]+))?)?$/,
};

interface Bound {
  readonly longest: number;
  readonly why: string;
}

/** By the pattern: how long a text it is given at most. */
const bounded: Readonly<Record<string, Bound>> = {
  "/(file:\\/\\/)?(((\\/?)(\\w:))?([/\\\\].+)):\\d+:\\d+/": { longest: 256, why: "a line of our own stack" },
  "/^(.+):(.+)$/": {
    longest: 512,
    why: "the user of a URL, which a setting bounds; the agent never gives one",
  },
};

const files = sources.flatMap((source) =>
  /\.m?[jt]s$/.test(source)
    ? [source]
    : readdirSync(path.join(root, source), { recursive: true, encoding: "utf8" })
        .filter((file) => /(?<!\.d)\.[jt]s$/.test(file) && !/(^|\/)(test\w*|benchmarks|examples)(\/|\.js$)/.test(file))
        .map((file) => `${source}/${file}`),
);

const written = files.flatMap((file): readonly Found[] =>
  patternsIn(readFileSync(path.join(root, file), "utf8")).map((found) => ({ file, ...found })),
);

type Found = WrittenPattern & { readonly file: string };

const patternOf = ({ file, written, pattern }: Found): RegExp | undefined => pattern ?? built[`${file}: ${written}`];

test("each regular expression that is built at run time is known here", () => {
  const unknown = written.filter((one) => isOurs(one) && patternOf(one) === undefined);
  expect(unknown.map(({ file, line, written }) => `${file}:${line}: ${written}`)).toEqual([]);
  expect(written.length).toBeGreaterThan(200);
});

/** Those of packages are found as literals alone. */
const isOurs = ({ file }: Found): boolean => !file.startsWith("node_modules/");

const mostAttacks = 800;
const longestText = 16_384;
/** Milliseconds. For the longest text linear takes 0.2, and a tenth of quadratic 30. */
const tooSlow = 5;
/** For a quarter of it; what is faster is not run on the longest. */
const suspicious = 0.4;
/** What is exponential is seen on short texts, and never run on long ones. */
const lengths = [12, 18, 24, 30, 36, 64, 512, longestText / 4];

test("each regular expression takes linear time, or its text is short", () => {
  const slow: string[] = [];
  const patterns = new Map<string, { readonly pattern: RegExp; readonly where: string }>();
  for (const one of written) {
    const pattern = patternOf(one);
    if (pattern) patterns.set(String(pattern), { pattern, where: `${one.file}:${one.line}` });
  }
  for (const [text, { pattern, where }] of patterns) {
    const attack = slowAttackOn(pattern, bounded[text]?.longest ?? longestText);
    if (attack) slow.push(`${where}: ${text} with ${JSON.stringify(attack)}`);
  }
  expect(slow).toEqual([]);
}, 120_000);

test.each([/,(?![^()]*\))/, /^\s*(.+?)\s+for\s+(\S+)\s*$/, /\d+$/, /^(a+)+$/])("%s is found to be slow", (pattern) => {
  expect(slowAttackOn(pattern, longestText)).toBeDefined();
});

function slowAttackOn(pattern: RegExp, longest: number): Attack | undefined {
  const everywhere = new RegExp(pattern.source, pattern.flags.replace("g", "").concat("g"));
  let tried = 0;
  for (const attack of attacksOn(pattern)) {
    if (tried++ === mostAttacks) return undefined;
    const steps = lengths.filter((length) => length < longest);
    const early = steps.find((length) => fastest(everywhere, textOf(attack, length), 1, tooSlow) >= tooSlow);
    const last = early ?? longest;
    const before = steps.at(-1) ?? longest;
    if (early === undefined && fastest(everywhere, textOf(attack, before), 2, suspicious) < suspicious) continue;
    if (fastest(everywhere, textOf(attack, last), 5, tooSlow) >= tooSlow) return attack;
  }
  return undefined;
}

/** The best of some runs, until one is fast enough: what else the machine does makes a run slower, never faster. */
function fastest(pattern: RegExp, text: string, runs: number, enough: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs && best >= enough; run++) {
    const begun = performance.now();
    text.replace(pattern, "");
    best = Math.min(best, performance.now() - begun);
  }
  return best;
}
