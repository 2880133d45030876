import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { readLines } from "../../../agent/board/read-lines.ts";

const folder = mkdtempSync(join(tmpdir(), "siteward-lines-"));
const file = join(folder, "table");
afterEach(() => rmSync(file, { force: true }));

async function piecesOf(text: string): Promise<readonly (readonly string[])[]> {
  writeFileSync(file, text);
  return await Array.fromAsync(readLines(file));
}

test.each([
  ["empty", "", []],
  ["one line", "a b\n", ["a b"]],
  ["a last line without an end", "a\nb", ["a", "b"]],
  ["an empty line", "a\n\nb\n", ["a", "", "b"]],
])("the lines of a file are read: %s", async (_, text, lines) => {
  expect((await piecesOf(text)).flat()).toEqual(lines);
});

test("of a large file, no more than a page is in memory at a time, and no line is broken", async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `${at}: ${"x".repeat(at % 200)}`);
  const pieces = await piecesOf(`${lines.join("\n")}\n`);
  expect(pieces.flat()).toEqual(lines);
  expect(Math.max(...pieces.map((piece) => piece.join("\n").length))).toBeLessThan(5000);
});

test("a line that is longer than a page is cut", async () => {
  const pieces = await piecesOf(`${"x".repeat(1_000_000)}\nb\n`);
  expect(pieces.flat().map((line) => line.length < 10_000)).toEqual([true, true]);
  expect(pieces.flat()[1]).toBe("b");
});

test("a file that cannot be read is an error", async () => {
  await expect(Array.fromAsync(readLines(join(folder, "nothing")))).rejects.toThrow("ENOENT");
});

test("a file is closed, even if it is not read to its end", async () => {
  writeFileSync(file, "a\n".repeat(100_000));
  const open = (): number => readdirSync("/proc/self/fd").length;
  const before = open();
  for (let reader = 0; reader < 10; reader++) for await (const _ of readLines(file)) break;
  expect(open()).toBe(before);
});
