import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { exit } from "../../agent/base/exit-codes.ts";
import type { Io, Run } from "../../agent/base/io.ts";
import { inWords, readText } from "../../agent/config/read-text.ts";
import { printSchema } from "../../agent/config/reference.ts";
import { printDifferences } from "./diff.ts";
import { familyNames, loadFamily, schemaOfAll } from "./families.ts";
import { MalformedCase } from "./malformed.ts";
import { canonical, printOutcome } from "./outcome.ts";
import { type Replayed, replay } from "./replay.ts";

/** The size of a site of thousands of boards, written out in full. */
const largestCase = 64 * 2 ** 20;

const standardInput = "-";

export const run: Run = async (io, { flags, words }) => {
  if (flags.has("schema")) return await guarded(io, async () => void io.stdout.write(await schemaOf(words)));
  if (words.length === 0) {
    io.stderr.line("replay needs a case: npm run replay -- CASE.json (what a case may say: --schema)");
    return exit.usage;
  }
  const isOne = words.length === 1 && !isFolder(words[0] ?? "");
  const tell = flags.has("json") ? tellAsJson : isOne ? tellOutcome : tellLine;
  const codes: number[] = [];
  const found = words.map((word) => filesOf(io, word));
  for (const file of found.flat()) {
    let isAsExpected = true;
    const code = await guarded(
      io,
      async () => {
        const replayed = await replay(await sourceOf(file), file);
        isAsExpected = (replayed.differences ?? []).length === 0;
        tell(io, file, replayed);
      },
      nameOf(file),
    );
    codes.push(code === exit.ok && !isAsExpected ? exit.failed : code);
  }
  if (tell === tellLine) io.stdout.write(summary(codes));
  return found.some((files) => files.length === 0) ? exit.usage : Math.max(...codes);
};

/** Each problem of an invalid case is one line on stderr. */
async function guarded(io: Io, work: () => Promise<void>, about?: string): Promise<number> {
  try {
    await work();
    return exit.ok;
  } catch (error) {
    if (!(error instanceof MalformedCase)) throw error;
    const before = about === undefined ? "" : `${about}: `;
    for (const problem of error.problems) io.stderr.line(`${before}${problem}`);
    return exit.usage;
  }
}

async function schemaOf(names: readonly string[]): Promise<string> {
  const [only] = names;
  if (only === undefined || names.length > 1)
    return printSchema(await schemaOfAll(only === undefined ? familyNames : names));
  return printSchema((await loadFamily(only)).schema);
}

/** The outcome is for programs and goes to stdout; messages about it are for people and go to stderr. */
function tellOutcome(io: Io, file: string, { id, outcome, differences }: Replayed): void {
  io.stdout.write(printOutcome(outcome));
  if (differences === undefined) return;
  if (differences.length === 0) io.stderr.line(`${id} is as expected`);
  else {
    io.stderr.line(`${id} (${nameOf(file)}) differs:`);
    io.stderr.write(printDifferences(differences));
  }
}

function tellLine(io: Io, file: string, { id, differences }: Replayed): void {
  if (differences === undefined) io.stdout.line(`ran      ${id}  ${nameOf(file)} (it expects nothing)`);
  else if (differences.length === 0) io.stdout.line(`ok       ${id}  ${nameOf(file)}`);
  else {
    io.stdout.line(`DIFFERS  ${id}  ${nameOf(file)}`);
    io.stdout.write(printDifferences(differences));
  }
}

function tellAsJson(io: Io, file: string, { id, family, outcome, differences }: Replayed): void {
  const verdict = differences === undefined ? "ran" : differences.length === 0 ? "ok" : "differs";
  const line = { id, family, file: nameOf(file), verdict, differences: differences ?? [], outcome };
  io.stdout.json(canonical(line));
}

function summary(codes: readonly number[]): string {
  const count = (code: number): number => codes.filter((one) => one === code).length;
  const [good, different, unusable] = [count(exit.ok), count(exit.failed), count(exit.usage)];
  return `cases: ${codes.length}, good: ${good}, different: ${different}, not understood: ${unusable}\n`;
}

const nameOf = (file: string): string => (file === standardInput ? "standard input" : file);

/** The case files at a path; empty if there are none, and then the reason has been printed. */
function filesOf(io: Io, word: string): readonly string[] {
  if (!isFolder(word)) return [word];
  try {
    const files = casesIn(word);
    if (files.length === 0) io.stderr.line(`${word}: holds no case (*.json)`);
    return files;
  } catch (error) {
    io.stderr.line(`${word}: ${inWords(error)}`);
    return [];
  }
}

/** An inaccessible path counts as a file: reading it reports the reason. */
function isFolder(word: string): boolean {
  try {
    return word !== standardInput && statSync(word).isDirectory();
  } catch {
    return false;
  }
}

const casesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => path.join(folder, name));

async function sourceOf(file: string): Promise<string> {
  if (file === standardInput) return await text(process.stdin);
  const read = readText(file, largestCase);
  if ("problem" in read) throw new MalformedCase([read.problem]);
  return read.text;
}
