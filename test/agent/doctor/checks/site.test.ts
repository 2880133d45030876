import { expect, test } from "vitest";
import { type BoardOrigin, siteVerdict } from "../../../../agent/doctor/checks/site.ts";

const said = (words: readonly BoardOrigin[], otherNamespaces?: string) =>
  siteVerdict(words, { namespace: "kube-system", otherNamespaces });
const here = { board: "pi-1", lease: "kube-system/siteward-a" };
const there = { board: "pi-2", lease: "plant/siteward-b" };

test("boards whose agents belong to a site that this one cannot see are named, with the setting concerned", () => {
  expect(said([here, there])).toMatchObject({
    level: "warn",
    message: expect.stringContaining("1 of the boards that this site selects run agents of the site with Lease plant/"),
    hint: expect.stringContaining('leader.otherNamespaces: "plant"'),
  });
});

test("a site whose Lease can be read, and boards of an older version without an annotation, pass", () => {
  expect(said([here, there], "plant")).toMatchObject({ level: "ok" });
  expect(said([])).toMatchObject({ level: "ok" });
});
