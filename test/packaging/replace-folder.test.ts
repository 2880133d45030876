import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replaceFolder } from "../../packaging/replace-folder.ts";

let root: string;
let dist: string;

beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), "replace-folder-"));
  dist = path.join(root, "dist");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A build of some files, each with its name as content. */
const built =
  (...files: readonly string[]) =>
  async (folder: string): Promise<void> => {
    mkdirSync(folder);
    for (const file of files) writeFileSync(path.join(folder, file), file);
  };

test("the first build makes the folder, and a later one leaves nothing of it", async () => {
  await replaceFolder(dist, built("main.js", "chunk-A.js"));
  await replaceFolder(dist, built("main.js", "chunk-B.js"));
  expect(readdirSync(dist).sort()).toEqual(["chunk-B.js", "main.js"]);
  expect(readdirSync(root)).toEqual(["dist"]);
});

test("a program that runs meanwhile finds all its files until the new ones are complete", async () => {
  await replaceFolder(dist, built("main.js", "chunk-A.js"));
  await replaceFolder(dist, async (folder) => {
    await built("main.js")(folder);
    expect(readFileSync(path.join(dist, "chunk-A.js"), "utf8")).toBe("chunk-A.js");
    await new Promise((resolve) => setImmediate(resolve));
    expect(existsSync(path.join(dist, "chunk-A.js"))).toBe(true);
  });
  expect(readdirSync(dist)).toEqual(["main.js"]);
});

test("a build that fails leaves the former program", async () => {
  await replaceFolder(dist, built("main.js"));
  const failing = replaceFolder(dist, async (folder) => {
    await built("half.js")(folder);
    throw new Error("a syntax error");
  });
  await expect(failing).rejects.toThrow("a syntax error");
  expect(readdirSync(dist)).toEqual(["main.js"]);
  expect(readdirSync(root)).toEqual(["dist"]);
});

test("a program stays if the new one cannot take its place", async () => {
  await replaceFolder(dist, built("main.js"));
  await expect(replaceFolder(dist, async () => {})).rejects.toThrow("ENOENT");
  expect(readdirSync(dist)).toEqual(["main.js"]);
});

test("two builds at the same time both succeed", async () => {
  await Promise.all([replaceFolder(dist, built("main.js")), replaceFolder(dist, built("main.js"))]);
  expect(readdirSync(dist)).toEqual(["main.js"]);
  expect(readdirSync(root)).toEqual(["dist"]);
});
