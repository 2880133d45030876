import { expect, test } from "vitest";
import { DecodeCache } from "../../../storage/indexer/decode-cache.ts";

/** Room for two objects of 100 characters. */
const small = (): DecodeCache<string, { n: number }> => new DecodeCache(800);

test("the least recently used object is dropped first", () => {
  const cache = small();
  cache.put("a", { n: 1 }, 100);
  cache.put("b", { n: 2 }, 100);
  cache.get("a");
  cache.put("c", { n: 3 }, 100);
  expect([cache.get("a")?.n, cache.get("b")?.n, cache.get("c")?.n]).toEqual([1, undefined, 3]);
  expect(cache.bytes).toBe(800);
});

test("a walk does not count as use", () => {
  const cache = small();
  cache.put("a", { n: 1 }, 100);
  cache.put("b", { n: 2 }, 100);
  expect(cache.peek("a")?.n).toBe(1);
  cache.put("c", { n: 3 }, 100);
  expect(cache.peek("a")).toBeUndefined();
});

test("a newer object replaces the older one and its weight", () => {
  const cache = small();
  cache.put("a", { n: 1 }, 100);
  cache.put("a", { n: 2 }, 50);
  expect(cache.get("a")?.n).toBe(2);
  expect(cache.bytes).toBe(300);
});

test("an object larger than the budget is not kept, and the object that it replaces is dropped", () => {
  const cache = small();
  cache.put("a", { n: 1 }, 100);
  cache.put("b", { n: 2 }, 100);
  cache.put("a", { n: 3 }, 100_000);
  expect(cache.get("a")).toBeUndefined();
  expect(cache.get("b")?.n).toBe(2);
  expect(cache.bytes).toBe(400);
});

test("a budget of zero keeps nothing", () => {
  const cache = new DecodeCache<string, object>(0);
  cache.put("a", {}, 0);
  expect(cache.get("a")).toBeUndefined();
  expect(cache.bytes).toBe(0);
});

test("deleting and clearing free the room", () => {
  const cache = small();
  cache.put("a", { n: 1 }, 100);
  cache.put("b", { n: 2 }, 100);
  cache.delete("a");
  cache.delete("a");
  expect(cache.bytes).toBe(400);
  cache.clear();
  expect(cache.bytes).toBe(0);
  expect(cache.get("b")).toBeUndefined();
});
