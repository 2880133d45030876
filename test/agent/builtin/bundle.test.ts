import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../../..");
const bundle = path.join(root, "dist");
const names = readdirSync(path.join(root, "agent/builtin")).map((file) => path.basename(file, ".ts"));

test("the build takes each file of this folder for the module of Node that it is called after", () => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    scripts: { build: string };
  };
  const aliases = scripts.build.split(" ").filter((word) => word.startsWith("--alias:"));
  expect(aliases.sort()).toEqual(names.map((name) => `--alias:node:${name}=./agent/builtin/${name}.ts`).sort());
});

test.skipIf(!existsSync(bundle))("nothing in the bundle imports one of them, which would evaluate all of it", () => {
  const files = readdirSync(bundle);
  expect(files).toContain("main.js");
  const imports = files.flatMap((file) =>
    [...readFileSync(path.join(bundle, file), "utf8").matchAll(/\b(?:from|import\()\s*"node:([\w/]+)"/g)].map(
      ([, name]) => name,
    ),
  );
  expect(imports.length).toBeGreaterThan(0);
  expect(imports.filter((name = "") => names.includes(name) || name === "fs/promises")).toEqual([]);
});
