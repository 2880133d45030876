import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../agent/cli/commands.ts";

const readme = readFileSync(path.resolve(import.meta.dirname, "../../README.md"), "utf8");

test("the table of commands names each of them, or its group", () => {
  const table = readme.slice(readme.indexOf("| Command | |"), readme.indexOf("Exit codes of `status`"));
  const named = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(?:siteward )?([a-z-]+)/g)].map(([, word]) => word),
  );
  const words = commands.map(({ name }) => name.split(" "));
  const missing = words.filter((name) => !name.some((word) => named.includes(word)));
  expect(missing).toEqual([]);
  expect(named.length).toBeGreaterThan(15);
});
