import { execFileSync } from "node:child_process";
import {
  lstatSync,
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

test("a reader that opened the file before still reads the whole old text", () => {
  replaceFile(file, "old");
  const before = statSync(file).ino;
  replaceFile(file, "new and longer");
  expect(readFileSync(file, "utf8")).toBe("new and longer");
  expect(statSync(file).ino).not.toBe(before);
  expect(readdirSync(folder)).toEqual(["status.json"]);
});

test("a monitoring program of any user may read it, regardless of the umask", () => {
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

test("a planted link is not followed", () => {
  const victim = path.join(folder, "victim");
  writeFileSync(victim, "precious");
  symlinkSync(victim, path.join(folder, ".status.json.tmp"));
  replaceFile(file, "new");
  expect(readFileSync(file, "utf8")).toBe("new");
  expect(lstatSync(file).isSymbolicLink()).toBe(false);
  expect(readFileSync(victim, "utf8")).toBe("precious");
});

test("files left by a power cut do no harm", () => {
  writeFileSync(path.join(folder, ".status.json.tmp"), "half a sta");
  replaceFile(file, "whole");
  expect(readFileSync(file, "utf8")).toBe("whole");
});

test("a FIFO in its place does not block the write", () => {
  execFileSync("mkfifo", [path.join(folder, ".status.json.tmp")]);
  replaceFile(file, "new");
  expect(readFileSync(file, "utf8")).toBe("new");
});

test("a missing folder causes an error", () => {
  expect(() => replaceFile(path.join(folder, "gone", "status.json"), "x")).toThrow(/ENOENT/);
});
