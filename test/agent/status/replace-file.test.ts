import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replaceFile } from "../../../agent/status/replace-file.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-status-"));
  file = path.join(folder, "status.json");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a reader who opened the file before still reads the old text, whole", () => {
  replaceFile(file, "old");
  const before = statSync(file).ino;
  replaceFile(file, "new and longer");
  expect(readFileSync(file, "utf8")).toBe("new and longer");
  expect(statSync(file).ino).not.toBe(before);
  expect(readdirSync(folder)).toEqual(["status.json"]);
});

test("monitoring of any user may read it, whatever the umask", () => {
  const former = process.umask(0o077);
  try {
    replaceFile(file, "x");
  } finally {
    process.umask(former);
  }
  expect(statSync(file).mode & 0o777).toBe(0o644);
});

test("a write that fails leaves the old file as it was", () => {
  replaceFile(file, "old");
  mkdirSync(path.join(folder, ".status.json.tmp"));
  expect(() => replaceFile(file, "new")).toThrow(/EISDIR/);
  expect(readFileSync(file, "utf8")).toBe("old");
});

test("a link that somebody planted is not followed", () => {
  const victim = path.join(folder, "victim");
  writeFileSync(victim, "precious");
  symlinkSync(victim, path.join(folder, ".status.json.tmp"));
  expect(() => replaceFile(file, "new")).toThrow(/ELOOP/);
  expect(readFileSync(victim, "utf8")).toBe("precious");
});

test("what a power cut left behind is no obstacle", () => {
  writeFileSync(path.join(folder, ".status.json.tmp"), "half a sta");
  replaceFile(file, "whole");
  expect(readFileSync(file, "utf8")).toBe("whole");
});

test("a folder that is not there is an error that says so", () => {
  expect(() => replaceFile(path.join(folder, "gone", "status.json"), "x")).toThrow(/ENOENT/);
});
