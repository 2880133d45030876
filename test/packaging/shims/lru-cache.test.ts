import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { SeededRandom } from "../../support/seeded-random.ts";

interface Cache {
  readonly size: number;
  get(alias: number): string | undefined;
  set(alias: number, topic: string): void;
  keys(): Iterable<number>;
  clear(): void;
}

const load = createRequire(import.meta.url);
const cacheOf = (module: string): Cache => new (load(module).LRUCache)({ max: 4 });

test("the replacement in the bundle behaves like the package", () => {
  const random = new SeededRandom(7);
  const [theirs, ours] = [cacheOf("lru-cache"), cacheOf("../../../packaging/shims/lru-cache.cjs")];
  const seen = new Set<string>();
  for (let step = 0; step < 500; step++) {
    const alias = 1 + Math.floor(random.next() * 4);
    const choice = random.next();
    if (choice < 0.45) for (const cache of [theirs, ours]) cache.set(alias, `topic ${step}`);
    else if (choice < 0.97) expect(ours.get(alias)).toBe(theirs.get(alias));
    else for (const cache of [theirs, ours]) cache.clear();
    expect([ours.size, ...ours.keys()]).toEqual([theirs.size, ...theirs.keys()]);
    seen.add([...ours.keys()].join());
  }
  expect(seen.size).toBeGreaterThan(20);
});
