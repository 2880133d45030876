import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../../agent/api/meta.ts";
import { controllerRevisions, daemonSets, pods, type Resource } from "../../../../agent/api/resources.ts";
import {
  exceededLimit,
  identityText,
  maxKeptLength,
  readingForm,
  reduceIfCrowded,
} from "../../../../agent/client/decoding/crowded.ts";
import { identityKept, keptOf } from "../../../../agent/client/decoding/members.ts";

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

describe("an object as long as the limit", () => {
  const identity = { name: "web", namespace: "default", uid: "1", resourceVersion: "7" };
  const limit = `more than ${maxKeptLength} characters`;
  /** An object of exactly this length. */
  function ofLength(
    length: number,
    metadata: object = {},
    spec: (text: string) => object = (text) => ({ text }),
  ): string {
    const around = JSON.stringify({ metadata: { ...identity, ...metadata }, spec: spec("") }).length;
    return JSON.stringify({ metadata: { ...identity, ...metadata }, spec: spec("x".repeat(length - around)) });
  }
  const read = (resource: Resource<KubeObject>, text: string) => reduceIfCrowded(text, readingForm(resource, keptOf));

  test("is read, and one character more is too long", () => {
    const text = ofLength(maxKeptLength);
    expect(read(daemonSets, text)).toEqual({ text });
    expect(read(daemonSets, ofLength(maxKeptLength + 1))).toEqual({ crowd: limit });
    // A revision has the template of its set, and more.
    expect("text" in read(controllerRevisions, ofLength(1.5 * maxKeptLength))).toBe(true);
    expect(read(controllerRevisions, ofLength(1.5 * maxKeptLength + 1))).toEqual({
      crowd: "more than 589824 characters",
    });
  });

  test("does not include managedFields, unless they are so long that dropping them takes too long", () => {
    const managedFields = (bytes: number): object => ({ managedFields: [{ fieldsV1: { text: "y".repeat(bytes) } }] });
    expect(read(daemonSets, ofLength(2 * maxKeptLength, managedFields(1.1 * maxKeptLength)))).toEqual({
      text: expect.not.stringContaining("managedFields"),
    });
    expect(read(daemonSets, ofLength(2 * maxKeptLength + 1, managedFields(1.1 * maxKeptLength)))).toEqual({
      crowd: limit,
    });
  });

  test("does not include the fields of a pod that nothing reads, whatever their length", () => {
    const env = (text: string): object => ({ nodeName: "pi-1", containers: [{ name: "a", env: [{ value: text }] }] });
    const found = read(pods, ofLength(1_500_000, {}, env));
    expect(found).toEqual({ text: expect.stringContaining('"nodeName":"pi-1"') });
  });

  test("is named without reading all of it, if its identity is at its beginning", () => {
    const text = ofLength(1_000_000);
    const named = { metadata: identity };
    expect(JSON.parse(identityText(text, identityKept) ?? "")).toEqual(named);
    // Cut off after the identity, so what follows was not read.
    expect(JSON.parse(identityText(`${text.slice(0, 5000)}}}}}`, identityKept) ?? "")).toEqual(named);
    const late = JSON.stringify({ spec: "x".repeat(10_000), metadata: identity });
    expect(JSON.parse(identityText(late, identityKept) ?? "")).toEqual(named);
  });
});
