import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { architectures } from "../../packaging/architectures.ts";
import { layout } from "../../packaging/layout.ts";

const root = path.resolve(import.meta.dirname, "../..");

test("each page to which the guide for operators links is installed with it", () => {
  const files = layout({
    root,
    architecture: architectures.amd64,
    version: "0.0.0",
    node: { binary: "node", license: path.join(root, "LICENSE") },
    sqlite: "better_sqlite3.node",
    bundle: { folder: "dist", files: [] },
    man: "",
    completion: "",
    copyright: "",
    changelog: "",
  });
  const guide = readFileSync(path.join(root, "docs/operator.md"), "utf8");
  const linked = [...guide.matchAll(/\]\(([\w-]+\.md)/g)].map(([, page]) => `usr/share/doc/siteward/${page}`);
  expect(linked.length).toBeGreaterThan(3);
  const installed = files.map(({ path: at }) => at);
  expect(linked.filter((page) => !installed.includes(page))).toEqual([]);
});
