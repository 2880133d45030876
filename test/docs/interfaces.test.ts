import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
const textOf = (file: string): string => readFileSync(path.join(root, file), "utf8");

test("docs/interfaces.md names every label, annotation and taint that the agent reads or writes", () => {
  const sources = execFileSync("git", ["ls-files", "agent/*.ts"], { cwd: root, encoding: "utf8" }).split("\n");
  const keys = sources
    .filter((file) => file !== "")
    .flatMap((file) => [...textOf(file).matchAll(/"([a-z0-9.-]+\.(?:io|dev)\/[a-z][a-z0-9._-]*)"/g)])
    .map(([, key = ""]) => key)
    .filter((key) => !/\/v\d+(?:(?:alpha|beta)\d+)?$/.test(key)); // An apiVersion.
  expect(keys.length).toBeGreaterThan(30);
  const page = textOf("docs/interfaces.md");
  expect([...new Set(keys)].filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
});
