import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replaceDurably, writeNew } from "../../../agent/config/durable-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-durable-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => path.join(folder, name);
const modeOf = (name: string): number => statSync(at(name)).mode & 0o777;

test("a file is replaced atomically, has its mode regardless of the umask, and no other file is left", () => {
  writeFileSync(at("a.conf"), "a longer text than the new one", { mode: 0o600 });
  const umask = process.umask(0o077);
  try {
    replaceDurably(at("a.conf"), "new", 0o644);
  } finally {
    process.umask(umask);
  }
  expect(readFileSync(at("a.conf"), "utf8")).toBe("new");
  expect(modeOf("a.conf")).toBe(0o644);
  expect(readdirSync(folder)).toEqual(["a.conf"]);
});

test("a temporary file left by a power cut does no harm", () => {
  writeFileSync(at(".a.conf.tmp"), "half of it", { mode: 0o666 });
  replaceDurably(at("a.conf"), "whole", 0o600);
  expect(readFileSync(at("a.conf"), "utf8")).toBe("whole");
  expect(modeOf("a.conf")).toBe(0o600);
});

test("if the new file cannot be written, the previous one is kept", () => {
  replaceDurably(at("a.conf"), "former", 0o600);
  mkdirSync(at(".a.conf.tmp"));
  expect(() => replaceDurably(at("a.conf"), "new", 0o600)).toThrow();
  expect(readFileSync(at("a.conf"), "utf8")).toBe("former");
});

test("a new file never overwrites an existing one", () => {
  writeNew(at("ops.key"), "first", 0o600);
  expect(() => writeNew(at("ops.key"), "second", 0o600)).toThrow("EEXIST");
  expect(readFileSync(at("ops.key"), "utf8")).toBe("first");
});
