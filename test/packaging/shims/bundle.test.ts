import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { isBuilt, shipped } from "../../support/shipped.ts";

const root = path.resolve(import.meta.dirname, "../../..");
const bundle = path.dirname(shipped);
const files = readdirSync(path.join(root, "packaging/shims"));
const names = files.filter((file) => file.endsWith(".ts")).map((file) => path.basename(file, ".ts"));

test.skipIf(!isBuilt)("the bundle imports none of the replaced modules, which would evaluate all their exports", () => {
  const bundled = readdirSync(bundle);
  expect(bundled).toContain("main.js");
  const imports = bundled.flatMap((file) =>
    [...readFileSync(path.join(bundle, file), "utf8").matchAll(/\b(?:from|import\()\s*"node:([\w/]+)"/g)].map(
      ([, name]) => name,
    ),
  );
  expect(imports.length).toBeGreaterThan(0);
  expect(imports.filter((name = "") => names.includes(name) || name === "fs/promises")).toEqual([]);
});
