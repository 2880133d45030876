import { expect, test } from "vitest";
import { cacheVerdictOf, differencesOf } from "../../../agent/doctor/check-cache.ts";

const pod = (key: string, version = "100", uid = `uid of ${key}`) => ({ key, uid, version });

test.each([
  ["the same", [pod("a"), pod("b")], [pod("a"), pod("b")], []],
  ["an older heartbeat", [pod("a", "120")], [pod("a", "100")], []],
  ["a version that the server has not come to", [pod("a", "99")], [pod("a")], ["pods a is newer than the server's"]],
  ["an object made anew", [pod("a", "200", "other")], [pod("a")], ["pods a is another one"]],
  ["a phantom", [pod("a")], [pod("a"), pod("b")], ["pods b does not exist"]],
  ["a gap", [pod("a"), pod("b")], [pod("b")], ["pods a is missing"]],
])("%s in the cache of an agent", (_, served, cached, differences) => {
  expect(differencesOf("pods", served, cached, true)).toEqual(differences);
});

test("of a large site only what both show is compared", () => {
  expect(differencesOf("pods", [pod("a"), pod("b")], [pod("a"), pod("c")], false)).toEqual(["pods b is missing"]);
});

test("a cache that differs is a failure, with the first three differences and a remedy", () => {
  expect(cacheVerdictOf(7, [])).toMatchObject({ level: "ok" });
  const { level, message, hint } = cacheVerdictOf(7, ["one", "two", "three", "four", "five"]);
  expect(level).toBe("fail");
  expect(message).toContain("one; two; three, and 2 more");
  expect(hint).toContain("cache.db");
});
