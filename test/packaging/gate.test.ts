import { expect, test } from "vitest";
import { type Member, problemsOf } from "../../packaging/gate.ts";

const file: Member = { mode: "-rw-r--r--", owner: "root/root", size: 10, path: "usr/lib/siteward/dist/main.js" };
const most = { xz: 34 * 2 ** 20, gzip: 52 * 2 ** 20 };

test("a package of plain files of root's may go out", () => {
  expect(problemsOf([file, { ...file, mode: "lrwxrwxrwx", path: "usr/bin/siteward" }], most.xz, "xz")).toEqual([]);
});

test.each<[string, Partial<Member>]>([
  ["part of a node_modules folder", { path: "usr/lib/siteward/node_modules/" }],
  ["part of a node_modules folder", { path: "usr/lib/siteward/node_modules/js-yaml/index.js" }],
  ["a source map", { path: "usr/lib/siteward/dist/main.js.map" }],
  ["TypeScript", { path: "usr/lib/siteward/agent/main.ts" }],
  ["anybody may write it", { mode: "-rw-rw-rw-" }],
  ["anybody may write it", { mode: "drwxrwxrwx" }],
  ["runs as its owner or group", { mode: "-rwsr-xr-x" }],
  ["runs as its owner or group", { mode: "-rwxr-sr-x" }],
  ["does not belong to root", { owner: "siteward/siteward" }],
  ["credentials", { path: "etc/siteward/credentials/kubeconfig" }],
  ["credentials", { path: "usr/lib/siteward/test.key" }],
])("one that holds %s may not", (what, member) => {
  const wrong = { ...file, ...member };
  expect(problemsOf([file, wrong], 0, "xz")).toEqual([`${wrong.path}: ${what}`]);
});

test.each(["xz", "gzip"] as const)("one that has grown may not, packed with %s", (compression) => {
  expect(problemsOf([file], most[compression], compression)).toEqual([]);
  expect(problemsOf([file], most[compression] + 1, compression)).toHaveLength(1);
});

test("one that is too large for a small card may not", () => {
  expect(problemsOf([{ ...file, size: 120 * 2 ** 20 }], 0, "xz")).toEqual([]);
  expect(problemsOf([{ ...file, size: 120 * 2 ** 20 + 1 }], 0, "xz")).toHaveLength(1);
});
