import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { makeFolder } from "../../storage/make-folder.ts";
import { scratch } from "./object-store.ts";

test("missing parts of a path are created, and existing ones are kept", () => {
  using place = scratch();
  for (const name of ["a/b/c", "a/b/c", "a/d/", "e//f/../g", "a"]) {
    makeFolder(place.file(name));
    expect(statSync(place.file(name)).isDirectory()).toBe(true);
  }
});

test("a link to a folder is a folder", () => {
  using place = scratch();
  mkdirSync(place.file("there"));
  symlinkSync(place.file("there"), place.file("link"));
  makeFolder(place.file("link/below"));
  makeFolder(place.file("link"));
  expect(statSync(place.file("there/below")).isDirectory()).toBe(true);
});

test.each([
  ["a file", (file: string) => writeFileSync(file, "")],
  ["a link to nowhere", (file: string) => symlinkSync("/nowhere/at/all", file)],
])("if %s is in the way the error says so, and nothing is created", (_, put) => {
  using place = scratch();
  put(place.file("way"));
  expect(() => makeFolder(place.file("way"))).toThrow("EEXIST");
  expect(() => makeFolder(place.file("way/a/b"))).toThrow(/ENOTDIR|EEXIST/);
});

test.each(["/proc/none", "/proc/none/below/it", ""])(
  "in %j, where no folder can be created, the error is immediate",
  (folder) => {
    expect(() => makeFolder(folder)).toThrow(/ENOENT|EACCES/);
  },
);
