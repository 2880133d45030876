import { expect, test } from "vitest";
import { exceededLimit } from "../../../../agent/client/decoding/crowded.ts";

const pod = (spec: object, annotations: object = {}): string =>
  JSON.stringify({ kind: "Pod", metadata: { name: "web", annotations }, spec });
const many = <T>(length: number, one: T): T[] => Array.from({ length }, () => one);
const terms = (values: string[]): object => ({
  affinity: { nodeAffinity: { terms: [{ matchExpressions: [{ key: "a", operator: "In", values }] }] } },
});

test.each([
  ["members", pod({ tolerations: many(30_000, { key: "a" }) }), "more than 30000 members"],
  ["empty objects", pod({ terms: many(30_001, {}) }), "more than 30000 members"],
  ["empty strings in a list", pod(terms(many(60_002, ""))), "more than 60000 strings in lists"],
  ["numbers in a list", pod({ securityContext: { supplementalGroups: many(700_000, 1) } }), "more than 400000 values"],
])("an object with too many %s is not parsed, and the message names them", (_, text, crowd) => {
  expect(exceededLimit(text)).toBe(crowd);
});

test.each([
  ["half as many strings", pod(terms(many(30_000, "board")))],
  ["annotations full of commas", pod({}, { notes: ",".repeat(262_144) })],
  ["annotations that hold JSON", pod({}, { notes: JSON.stringify(many(60_002, "")).slice(0, 262_144) })],
])("an object with %s is parsed", (_, text) => {
  expect(exceededLimit(text)).toBeUndefined();
});
