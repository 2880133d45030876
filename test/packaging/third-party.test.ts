import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { shippedModules } from "../../packaging/shipped-modules.ts";
import { type Module, problemsWith, readThirdParty, thirdPartyPage } from "../../packaging/third-party.ts";

const root = path.resolve(import.meta.dirname, "../..");
const thirdParty = readThirdParty(root);
const nodeLicense = readFileSync(path.join(root, `node_modules/node-linux-${process.arch}/LICENSE`), "utf8");
let modules: readonly Module[] = [];

beforeAll(async () => {
  modules = await shippedModules(root);
});

const problems = (changed: readonly Module[], license = nodeLicense): readonly string[] =>
  problemsWith(changed, license, thirdParty);

const with1 = (name: string, change: Partial<Module>): readonly Module[] =>
  modules.map((one) => (one.name === name ? { ...one, ...change } : one));

test("every shipped module has a permitted license and a review of its exact version", () => {
  expect(problems(modules)).toEqual([]);
  expect(modules.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["Node.js", "SQLite", "mqtt", "node-addon-api"]),
  );
});

test("the page in the package lists the modules that are shipped now", () => {
  const page = readFileSync(path.join(root, "docs/third-party.md"), "utf8");
  expect(page, "npm run third-party -- --write").toBe(thirdPartyPage(modules, thirdParty));
});

test("a license that is not permitted is refused", () => {
  expect(problems(with1("mqtt", { license: "GPL-3.0-only" }))).toEqual([
    expect.stringMatching(/^mqtt \S+: its license GPL-3\.0-only is not permitted$/),
  ]);
  expect(problems(with1("mqtt", { license: "none" }))).toHaveLength(1);
});

test("a new module needs a review, and a removed one must not have one", () => {
  expect(problems([...modules, { name: "left-pad", version: "1.3.0", license: "MIT" }])).toEqual([
    "left-pad 1.3.0: no review of its advisories",
  ]);
  expect(problems(modules.filter(({ name }) => name !== "rfdc"))).toEqual(["rfdc is reviewed but not shipped"]);
});

test("a changed version needs a new review: of a module, of its SQLite, and of Node.js on either processor", () => {
  const reviewed = (name: string): string => modules.find((one) => one.name === name)?.version ?? "";
  for (const name of ["js-yaml", "SQLite", "Node.js"]) {
    expect(problems(with1(name, { version: "99.0.0" }))).toEqual([
      `${name} 99.0.0: the advisories were reviewed for ${reviewed(name)}`,
    ]);
  }
  expect(problems([...modules, { name: "Node.js", version: "99.0.0", license: "MIT" }])).toHaveLength(1);
});

test("a new part of Node.js needs a check of its license", () => {
  const more = `${nodeLicense}\n- quirk, located at deps/quirk, is licensed as follows:\n`;
  expect(problems(modules, more)).toEqual(["quirk (deps/quirk) in Node.js: it is not listed"]);
  const fewer = nodeLicense.replace("- libuv, located at deps/uv, is", "- libuv, is");
  expect(problems(modules, fewer)).toEqual(["libuv (deps/uv): Node.js no longer contains it"]);
});

test("each review has a date and a source, and each open advisory a reason", () => {
  for (const { reviewed, source, known } of thirdParty.modules) {
    expect(reviewed).toMatch(/^20\d\d-[01]\d-[0-3]\d$/);
    expect(source).not.toBe("");
    for (const { state } of known) expect(state).toMatch(/^(fixed$|not shipped: ...|open(, not reached)?: ...)/);
  }
});
