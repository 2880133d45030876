import { expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { HandoverCache } from "../../../agent/informer/handover-cache.ts";
import { podIndices } from "../../../agent/informer/kinds/indexes.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { pod } from "./objects.ts";

const names = (found: Iterable<Pod>): readonly string[] => [...found].map(({ metadata }) => metadata.name);

test("an object on its way to another board's watch is found like any other, until it has arrived", () => {
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

test("an object that does not arrive within 10 s went to a board of another site", async () => {
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

test("hundreds of large objects are not all held in memory together, and do not displace small objects", () => {
  const passing = new HandoverCache<Pod>({ clock: new FakeClock() }, { indices: podIndices });
  passing.add(pod("small", { labels: { app: "web" } }));
  const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`l${n}`, "x".repeat(60)]));
  for (let n = 0; n < 300; n++) passing.add(pod(`large-${n}`, { labels }));
  expect(passing.size).toBeLessThan(80);
  expect(names(passing.byIndex("byLabel", "default app web"))).toEqual(["small"]);
});
