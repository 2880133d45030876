import { describe, expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { newObject, pods, type Resource, services } from "../../../agent/api/resources.ts";
import { type Expectations, expecting, nothingExpected, outstanding } from "../../../agent/controllers/expectations.ts";
import { type Action, type Outcome, refTo } from "../../../agent/execution/actions.ts";
import { CachedSiteView } from "../../../agent/loop/site-view.ts";
import { pod } from "../../support/builders.ts";
import { refusal } from "../../support/small-api.ts";
import { SmallCaches } from "../election/support/caches.ts";

const at = (mono: number) => ({ mono, wall: mono });

const creation: Action = {
  do: "create",
  resource: pods,
  object: newObject(pods, { metadata: { generateName: "daemon-", namespace: "default" } }),
};

const created = (name: string, version = "10"): Outcome => ({
  action: creation,
  ok: true,
  object: pod(name, { version }),
});
const deleted = (name: string): Outcome => ({ action: { do: "delete", target: refTo(pods, pod(name)) }, ok: true });
const patched = (name: string, version: string): Outcome => ({
  action: { do: "patch", target: refTo(pods, pod(name)), type: "merge", patch: {} },
  ok: true,
  object: pod(name, { version }),
});

/** What is still expected at an instant, of a cache and an API with these pods. */
async function left(
  expected: Expectations,
  mono: number,
  cached: readonly Pod[],
  live: readonly Pod[] = cached,
  unreadable?: string,
) {
  const asked: string[] = [];
  const caches = new SmallCaches();
  caches.of(pods).add(...cached);
  const client = {
    async get<T extends KubeObject>(_: Resource<T>, { name }: { name: string }): Promise<T> {
      asked.push(`default/${name}`);
      if (name === unreadable) throw refusal("get", 0, "Unreadable");
      const found = live.find(({ metadata }) => metadata.name === name);
      if (found === undefined) throw refusal("get", 404, "NotFound");
      return found as KubeObject as T;
    },
  };
  const site = new CachedSiteView({ caches, client }, { now: at(mono), signal: new AbortController().signal });
  const outcomes = await outstanding(expected, pods, site);
  return { keys: [...outcomes.values()].map(({ key }) => key), asked, outcomes };
}

const expected = (...outcomes: readonly Outcome[]) => expecting(nothingExpected, pods, outcomes, at(0));

describe("a write is expected until the cache shows it", () => {
  test.each<[string, Outcome, readonly Pod[], boolean]>([
    ["a creation is expected until it is in the cache", created("a"), [], true],
    ["a creation in the cache is no longer expected", created("a"), [pod("a", { version: "10" })], false],
    [
      "a creation that another client has since changed is no longer expected",
      created("a"),
      [pod("a", { version: "11" })],
      false,
    ],
    ["a patch is expected until its version is in the cache", patched("a", "10"), [pod("a", { version: "9" })], true],
    ["a patch in the cache is no longer expected", patched("a", "10"), [pod("a", { version: "10" })], false],
    ["versions are compared as numbers", patched("a", "10"), [pod("a", { version: "100" })], false],
    ["a deletion is expected until it is in the cache", deleted("a"), [pod("a")], true],
    ["a deletion in the cache is no longer expected", deleted("a"), [], false],
    [
      "a deletion that waits for the kubelet is no longer expected",
      deleted("a"),
      [pod("a", { deletionTimestamp: "2026-01-01T00:00:00Z" })],
      false,
    ],
    ["another object of the same name ends the expectation", deleted("a"), [pod("a", { uid: "another" })], false],
  ])("%s", async (_, outcome, cached, waits) => {
    expect((await left(expected(outcome), 1, cached)).keys).toEqual(waits ? ["default/a"] : []);
  });
});

test("failed writes, writes not attempted and writes of another kind are not expected", () => {
  const error = new Error("refused");
  expect(
    expected(
      { action: creation, ok: false, error },
      { action: { do: "evict", target: refTo(pods, pod("a")) }, ok: true },
    ).size,
  ).toBe(0);
  expect(expecting(nothingExpected, services, [created("a"), deleted("b"), patched("c", "1")], at(0)).size).toBe(0);
});

test("a pod that cannot be read remains expected, and the others are nevertheless read from the API", async () => {
  const outcomes = expected(created("a"), created("b"));
  const { keys, asked } = await left(outcomes, 3000, [], [], "a");
  expect([keys, asked]).toEqual([["default/a"], ["default/a", "default/b"]]);
});

test("a pod that was deleted before the cache saw it is read from the API after 2 s, and no longer expected", async () => {
  const outcomes = expected(created("a"));
  expect(await left(outcomes, 1999, [], [])).toMatchObject({ keys: ["default/a"], asked: [] });
  expect(await left(outcomes, 2000, [], [])).toMatchObject({ keys: [], asked: ["default/a"] });
  expect(await left(outcomes, 2000, [], [pod("a")])).toMatchObject({ keys: ["default/a"], asked: ["default/a"] });
  expect(await left(outcomes, 2000, [], [pod("a", { uid: "another" })])).toMatchObject({
    keys: [],
    asked: ["default/a"],
  });
});

describe("an object that exists but never appears in the cache, because a webhook enlarged it,", () => {
  /** The API requests for it over a time, with a pass every two seconds. */
  const asked = async (minutes: number, live: readonly Pod[], unreadable?: string) => {
    let [outcomes, requests] = [expected(created("a")), 0];
    for (let mono = 0; mono <= minutes * 60_000; mono += 2000) {
      const pass = await left(outcomes, mono, [], live, unreadable);
      requests += pass.asked.length;
      outcomes = pass.outcomes;
    }
    return { keys: [...outcomes.values()].map(({ key }) => key), requests };
  };

  test.each([
    ["if the API returns it", undefined],
    ["if it cannot be read from the API either", "a"],
  ])("is not created again, and is requested less and less often, %s", async (_, unreadable) => {
    const { keys, requests } = await asked(60, [pod("a", { version: "10" })], unreadable);
    expect(keys).toEqual(["default/a"]);
    expect(requests).toBeGreaterThan(12);
    expect(requests).toBeLessThan(25);
  });

  test("is created again once the API no longer has it", async () => {
    expect((await asked(60, [])).keys).toEqual([]);
  });

  test("is no longer awaited if the cache shows the same version as the API, because the server was restored", async () => {
    const older = [pod("a", { version: "7" })];
    expect((await left(expected(created("a")), 1999, older)).keys).toEqual(["default/a"]);
    expect((await left(expected(created("a")), 2000, older)).keys).toEqual([]);
  });
});

test("a deletion that the watch does not show delays work for 5 minutes at most", async () => {
  const outcomes = expected(deleted("a"));
  expect((await left(outcomes, 299_999, [pod("a")])).keys).toEqual(["default/a"]);
  expect((await left(outcomes, 300_000, [pod("a")])).keys).toEqual([]);
});

test("a pass checks only a few of hundreds of overdue expectations", async () => {
  const many = Array.from({ length: 250 }, (_, index) => created(`p${index}`));
  const { keys, asked } = await left(expected(...many), 3000, [], []);
  expect(asked).toHaveLength(16);
  expect(keys).toHaveLength(250 - 16);
});
