import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "../../agent/cli/parse.ts";
import { checkFile } from "../../agent/config/load.ts";
import { parseYaml } from "../../agent/config/yaml.ts";
import { readScenario } from "../../simulator/scenarios/scenario-reader.ts";

const root = path.resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(path.join(os.tmpdir(), "siteward-examples-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pages = [
  "README.md",
  "simulator/README.md",
  ...readdirSync(path.join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** All fenced examples of a kind on all pages, without the indentation of lists. */
const examples = (kind: string): readonly (readonly [page: string, text: string])[] =>
  pages.flatMap((page) =>
    [...readFileSync(path.join(root, page), "utf8").matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
      .filter(([, , found]) => found === kind)
      .map(([, indent = "", , text = ""]) => [page, text.replaceAll(new RegExp(`^${indent}`, "gm"), "")] as const),
  );

test("every YAML example is valid, and examples of configurations pass siteward's validation", () => {
  const found = examples("yaml");
  expect(found.length).toBeGreaterThan(5);
  for (const [page, text] of found) expect(() => parseYaml(text), `${page}\n${text}`).not.toThrow();
  const settings = found.filter(([, text]) => text.includes("siteward.dev/v1"));
  expect(settings.length).toBeGreaterThan(0);
  for (const [page, text] of settings) {
    const file = path.join(folder, "siteward.yaml");
    writeFileSync(file, text);
    expect(() => checkFile(file), `${page}\n${text}`).not.toThrow();
  }
});

test("the example scenario is valid; test/scenarios plays it", () => {
  const stories = examples("yaml").filter(([, text]) => /^steps:/m.test(text));
  expect(stories.map(([page]) => page)).toEqual(["simulator/README.md"]);
  for (const [, text] of stories)
    expect(readScenario("story.yaml", parseYaml(text), {}).steps.length).toBeGreaterThan(2);
});

test("all examples of kube-controller-manager disable the same controllers, including the two mandatory ones", () => {
  const lists = examples("yaml")
    .map(([, text]) => [...text.matchAll(/-[a-z-]+-controller\b/g)].map(([name]) => name).sort())
    .filter((names) => names.length > 0);
  expect(lists.length).toBeGreaterThan(4);
  expect(new Set(lists.map((names) => names.join()))).toHaveLength(1);
  expect(lists[0]).toEqual(expect.arrayContaining(["-node-lifecycle-controller", "-taint-eviction-controller"]));
});

test("every npm command on the pages is a script, and every siteward command line in them is valid", () => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const lines = examples("sh").flatMap(([, text]) => text.split("\n"));
  const called = lines.flatMap((line) =>
    [...line.matchAll(/npm run (?:--silent )?([a-z:-]+)/g)].map(([, name]) => name),
  );
  expect(called.length).toBeGreaterThan(8);
  expect([...new Set(called)].filter((name) => !Object.hasOwn(scripts, name ?? ""))).toEqual([]);
  const ours = lines.flatMap((line) => [
    ...[...line.matchAll(/npm run siteward -- ([^#;|]+)/g)].map(([, words = ""]) => words),
    ...[...line.matchAll(/npm start -- ([^#;|]+)/g)].map(([, words = ""]) => `up ${words}`),
    ...[...line.matchAll(/^(?:sudo )?siteward ([^#;|>']+)/g)].map(([, words = ""]) => words.replace(/ &&.*/, "")),
  ]);
  expect(ours.length).toBeGreaterThan(5);
  const refused = ours
    .filter((command) => !command.endsWith("\\"))
    .filter((command) => parse(command.trim().split(/\s+/)).do === "refuse");
  expect(refused).toEqual([]);
});
