import { expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { HandoverCache } from "../../../agent/informer/handover-cache.ts";
import { podIndices } from "../../../agent/informer/indexes.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { pod } from "./objects.ts";

const names = (found: Iterable<Pod>): readonly string[] => [...found].map(({ metadata }) => metadata.name);

test("what is on its way is found like everything else, until it has arrived", () => {
  const passing = new HandoverCache<Pod>({ clock: new FakeClock() }, { indices: podIndices });
  passing.add(pod("b", { labels: { app: "web" } }));
  passing.add(pod("a"));
  expect(names(passing.list())).toEqual(["a", "b"]);
  expect(names(passing.byIndex("byLabel", "default app web"))).toEqual(["b"]);
  expect([...passing.indexValues("byNode")]).toEqual([]);
  expect([passing.countByIndex("byLabel", "default"), passing.size]).toEqual([2, 2]);
  passing.remove("default/b");
  expect(passing.get("default/b")).toBeUndefined();
  expect(names(passing.list())).toEqual(["a"]);
});

test("what arrives nowhere within 10 s went to a board that is not ours", async () => {
  const clock = new FakeClock();
  const passing = new HandoverCache<Pod>({ clock }, { indices: podIndices });
  passing.add(pod("a"));
  await clock.advance("10s");
  expect(passing.size).toBe(1);
  await clock.advance("1ms");
  expect([passing.size, passing.get("default/a")]).toEqual([0, undefined]);
  passing.add(pod("b"));
  expect(names(passing.list())).toEqual(["b"]);
});
