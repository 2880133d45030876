import { expect, test } from "vitest";
import {
  checkDifferences,
  checkMirror,
  differencesOf,
  storedDifference,
} from "../../../../agent/doctor/checks/cache.ts";

const pod = (key: string, version = "100", uid = `uid of ${key}`) => ({ key, uid, version });

test.each([
  ["the same objects", [pod("a"), pod("b")], [pod("a"), pod("b")], []],
  ["an older heartbeat", [pod("a", "120")], [pod("a", "100")], []],
  ["a version that the server has not reached", [pod("a", "99")], [pod("a")], ["pods a is newer than the server's"]],
  ["a recreated object", [pod("a", "200", "other")], [pod("a")], ["pods a has a different uid"]],
  ["a phantom", [pod("a")], [pod("a"), pod("b")], ["pods b is no longer on the server"]],
  ["a gap", [pod("a"), pod("b")], [pod("b")], ["pods a is not in the cache"]],
])("an agent's cache with %s is compared with the API", (_, served, cached, differences) => {
  expect(differencesOf("pods", served, cached, true)).toEqual(differences);
});

test("objects missing from the partial list of a large site are not reported", () => {
  expect(differencesOf("pods", [pod("a"), pod("b")], [pod("a"), pod("c")], false)).toEqual([
    "pods b is not in the cache",
  ]);
});

test("a cache that differs is a failure, with the first three differences and a remedy", () => {
  const same = { objects: 7, differences: [], undone: [] };
  expect(checkDifferences(same)).toMatchObject({ level: "ok" });
  const differences = ["one", "two", "three", "four", "five"];
  const { level, message, hint } = checkDifferences({ ...same, differences });
  expect(level).toBe("fail");
  expect(message).toContain("one; two; three, and 2 more");
  expect(hint).toContain("cache.db");
});

test("an API server that lists what its store does not have is a failure of the server, not of the cache", () => {
  const undone = ["pods a is not stored"];
  const { level, message, hint } = checkDifferences({ objects: 7, differences: ["nodes b has another uid"], undone });
  expect(level).toBe("fail");
  expect(message).toBe("the API server lists objects that are not in its store: pods a is not stored");
  expect(hint).toContain("Restart every kube-apiserver");
});

test.each([
  ["stored in the version that was listed", pod("a"), undefined],
  ["changed since it was listed", pod("a", "101"), undefined],
  ["stored in an older version", pod("a", "99"), "is stored in an older version"],
  ["deleted, or never stored in this history", "absent" as const, "is not stored"],
  ["not readable by the doctor", undefined, undefined],
])("the comparison of the cache with a listed object that is %s", (_, stored, difference) => {
  expect(storedDifference(pod("a"), stored)).toBe(difference);
});

const watch = (resource: string, state: "live" | "syncing" | "silent" | "failing" | "off") => ({ resource, state });

test("failing watches are a warning, and are not mistaken for those of a board that does not mirror anything", () => {
  const failing = checkMirror(["nodes", "pods", "leases", "services"].map((kind) => watch(kind, "failing")));
  expect(failing).toMatchObject({ level: "warn", hint: expect.stringContaining("siteward status") });
  expect(failing?.message).toContain(
    "4 of 4 watches receive nothing (nodes failing, pods failing, leases failing, and 1",
  );
  expect(checkMirror([watch("nodes", "live"), watch("pods", "silent")])).toMatchObject({
    level: "warn",
    message: expect.stringContaining("1 of 2 watches receive nothing (pods silent)"),
  });
});

test.each([
  ["of a cold standby", [watch("nodes", "off"), watch("pods", "off")], "is not mirroring the site"],
  ["of an agent without a status", [], "is not mirroring the site"],
  ["that is listed for the first time", [watch("nodes", "live"), watch("pods", "syncing")], "is being listed"],
])("a cache %s is not compared", (_, watches, reason) => {
  expect(checkMirror(watches)).toMatchObject({ level: "skip", message: expect.stringContaining(reason) });
});

test("a cache whose watches are all live is compared", () => {
  expect(checkMirror([watch("nodes", "live"), watch("pods", "live")])).toBeUndefined();
});
