import { expect, test } from "vitest";
import { Batch } from "../../../../agent/informer/reflector/batch.ts";

/** Number of objects that one batch takes. */
function taken(object: unknown): number {
  const batch = new Batch<unknown>();
  while (!batch.isFull) batch.add(object, object);
  return batch.take().length;
}

test("64 objects of usual size are one batch", () => {
  expect(taken({ metadata: { name: "pi-1" }, spec: { text: "x".repeat(5000) } })).toBe(64);
});

test("a few objects of many values are one batch", () => {
  expect(taken({ tolerations: Array.from({ length: 5000 }, () => ({ key: "k" })) })).toBeLessThan(8);
});

test("an object with 1.3 MB in one string is a batch of its own, regardless of where the string is", () => {
  const text = "x".repeat(1_300_000);
  expect(taken({ value: text })).toBe(1);
  expect(taken({ args: [text] })).toBe(1);
});
