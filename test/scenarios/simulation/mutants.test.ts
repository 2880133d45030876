import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";

const breaks = Object.entries(mutants).flatMap(([name, mutant]) => mutant.breaks.map((each) => ({ name, ...each })));

test.each(breaks)("$name: its text occurs exactly once in $file", ({ file, text, by }) => {
  const source = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
  expect(source.split(text)).toHaveLength(2);
  expect(by).not.toBe(text);
});
