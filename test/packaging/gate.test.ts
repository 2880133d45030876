import { expect, test } from "vitest";
import { type Member, problemsOf } from "../../packaging/gate.ts";

const file: Member = { mode: "-rw-r--r--", owner: "root/root", size: 10, path: "usr/lib/siteward/dist/main.js" };
const most = { xz: 34 * 2 ** 20, gzip: 52 * 2 ** 20 };

test("a package of plain files owned by root may be shipped", () => {
  expect(problemsOf([file, { ...file, mode: "lrwxrwxrwx", path: "usr/bin/siteward" }], most.xz, "xz")).toEqual([]);
});

test.each<[string, Partial<Member>]>([
  ["part of a node_modules folder", { path: "usr/lib/siteward/node_modules/" }],
  ["part of a node_modules folder", { path: "usr/lib/siteward/node_modules/js-yaml/index.js" }],
  ["a source map", { path: "usr/lib/siteward/dist/main.js.map" }],
  ["TypeScript", { path: "usr/lib/siteward/agent/main.ts" }],
  ["writable by all users", { mode: "-rw-rw-rw-" }],
  ["writable by all users", { mode: "drwxrwxrwx" }],
  ["setuid or setgid", { mode: "-rwsr-xr-x" }],
  ["setuid or setgid", { mode: "-rwxr-sr-x" }],
  ["not owned by root", { owner: "siteward/siteward" }],
  ["credentials", { path: "etc/siteward/credentials/kubeconfig" }],
  ["credentials", { path: "usr/lib/siteward/test.key" }],
])("a package with a file that is %s may not be shipped", (what, member) => {
  const wrong = { ...file, ...member };
  expect(problemsOf([file, wrong], 0, "xz")).toEqual([`${wrong.path}: ${what}`]);
});

test.each(["xz", "gzip"] as const)(
  "a package that has grown too large must not be shipped, packed with %s",
  (compression) => {
    expect(problemsOf([file], most[compression], compression)).toEqual([]);
    expect(problemsOf([file], most[compression] + 1, compression)).toHaveLength(1);
  },
);

test("a package too large for a small card must not be shipped", () => {
  expect(problemsOf([{ ...file, size: 120 * 2 ** 20 }], 0, "xz")).toEqual([]);
  expect(problemsOf([{ ...file, size: 120 * 2 ** 20 + 1 }], 0, "xz")).toHaveLength(1);
});
