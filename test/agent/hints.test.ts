import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "../../agent/cli/parse.ts";
import { checksNamed } from "../../agent/doctor/examination.ts";

const root = path.resolve(import.meta.dirname, "../..");

const sources = (folder: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(folder, entry.name);
    return entry.isDirectory() ? sources(at) : entry.name.endsWith(".ts") ? [at] : [];
  });

/** What the program prints, as far as a text of it names a command: no comments, no imports. */
const texts = sources(path.join(root, "agent")).flatMap((file) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => !/^\s*(\/\*|\*|\/\/|import )/.test(line))
    .flatMap((line) => [...line.matchAll(/"([^"]*)"|`([^`]*)`/g)].map(([, plain, template]) => plain ?? template ?? ""))
    .map((text) => ({ file: path.relative(root, file), text })),
);

/** "siteward doctor --only mqtt" in a sentence; not the service of this name, which systemd's programs are asked for. */
const commands = texts.flatMap(({ file, text }) =>
  [
    ...text.matchAll(/(?<!-u |(?:re)?start |reload |--now |stop |\/)\bsiteward ((?:[a-z][a-z-]+)(?: [^\s;,()'"`]+)*)/g),
  ].map(([, command = ""]) => ({ file, words: command.replace(/\.$/, "").split(" ") })),
);

const isTaken = (words: readonly string[]): boolean => parse(words).do !== "refuse";

/** The longest beginning of a sentence that is a command; the command alone where it wants arguments that the text leaves out. */
function taken(words: readonly string[]): number {
  for (let length = words.length; length > 0; length--) if (isTaken(words.slice(0, length))) return length;
  return isTaken([words[0] ?? "", "--help"]) ? 1 : 0;
}

/** The way in which an option that is mentioned in passing would be refused. */
function isUnknown(command: string, option: string): boolean {
  const request = parse([command, option]);
  return request.do === "refuse" && /is not an option/.test(request.problem);
}

test("every command that a hint names exists, with the options that follow it", () => {
  const found = commands.filter(({ words: [first = ""] }) => isTaken([first, "--help"]));
  expect(found.length).toBeGreaterThan(8);
  const refused = found.flatMap(({ file, words }) => {
    const [first = ""] = words;
    const prose = words.slice(taken(words)).filter((word) => word.startsWith("--"));
    return prose.filter((option) => isUnknown(first, option)).map((option) => `${file}: siteward ${first} ${option}`);
  });
  expect(refused).toEqual([]);
});

test("what looks like a command, because arguments of one follow, is a command", () => {
  const looksGiven = ({ words }: { readonly words: readonly string[] }): boolean =>
    words[0] !== "with" && words.slice(1).some((word) => /^(?:--[a-z]|(?:node|pod)\/|[A-Z]{3,}$)/.test(word));
  const given = commands.filter(looksGiven);
  expect(given.length).toBeGreaterThan(4);
  expect(given.filter(({ words: [first = ""] }) => !isTaken([first, "--help"]))).toEqual([]);
});

test("every check of the doctor that a hint names exists", () => {
  const asked = texts.flatMap(({ text }) =>
    [...text.matchAll(/siteward doctor --only ([a-z.,]+[a-z])/g)].flatMap(([, list = ""]) => list.split(",")),
  );
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.filter((name) => checksNamed(name).length === 0)).toEqual([]);
});
