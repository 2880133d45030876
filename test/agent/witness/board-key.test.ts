import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BoardKey, isPublicText, isSigned } from "../../../agent/witness/board-key.ts";
import { keyFileIn } from "../../../agent/witness/state-files.ts";
import { RecordingLog } from "../../support/recording-log.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "siteward-key-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = (): string => path.join(folder, "witness.key");
const kept = (log = new RecordingLog()): BoardKey => BoardKey.kept(keyFileIn(folder), log);

test("a board creates its key at the first start, readable only by itself, and uses it again at the next", () => {
  const first = kept();
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["witness.key"]);
  expect(kept().publicText).toBe(first.publicText);
  expect(isPublicText(first.publicText)).toBe(true);
});

test("a power cut may leave a file next to the key, or no file, but the next start has a key", () => {
  writeFileSync(path.join(folder, ".witness.key.tmp"), "half");
  const first = kept();
  expect(kept().publicText).toBe(first.publicText);
});

test.each([
  ["an empty file", ""],
  ["half a key", "-----BEGIN PRIVATE KEY-----\nMC4CAQAw"],
  ["another kind of key", "rsa"],
])("%s is replaced by a new key, and nothing of it is logged", (_, text) => {
  writeFileSync(file(), text);
  const log = new RecordingLog();
  const made = kept(log);
  expect(kept().publicText).toBe(made.publicText);
  expect(log.said("warn")).toHaveLength(1);
  const secret = readFileSync(file(), "utf8").split("\n")[1] ?? "";
  expect(JSON.stringify(log.lines)).not.toContain(secret);
});

test("a key that cannot be stored is used until the process ends", () => {
  const log = new RecordingLog();
  const write = (): never => {
    throw new Error("EROFS: read-only file system");
  };
  const key = BoardKey.kept({ read: () => undefined, write }, log);
  const bytes = Buffer.from("word");
  expect(isSigned(bytes, key.sign(bytes), key.publicText)).toBe(true);
  expect(log.said("warn")).toHaveLength(1);
});

test("a signature is valid only for its bytes and its key", () => {
  const [key, other] = [kept(), BoardKey.kept({ read: () => undefined, write: () => {} }, new RecordingLog())];
  const bytes = Buffer.from("word");
  const signature = key.sign(bytes);
  expect(isSigned(bytes, signature, key.publicText)).toBe(true);
  expect(isSigned(Buffer.from("words"), signature, key.publicText)).toBe(false);
  expect(isSigned(bytes, signature, other.publicText)).toBe(false);
  expect(isSigned(bytes, Buffer.alloc(64), key.publicText)).toBe(false);
});
