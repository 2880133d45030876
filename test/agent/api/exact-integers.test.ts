import { expect, test } from "vitest";
import type { ControllerRevision, DaemonSet } from "../../../agent/api/core.ts";
import { isRawInteger, parserOf } from "../../../agent/api/exact-integers.ts";
import { controllerRevisions, daemonSets, pods } from "../../../agent/api/resources.ts";
import { atOnce } from "../../../agent/base/steps.ts";
import { ListDecoder } from "../../../agent/client/decoding/list-decoder.ts";
import { bodyText } from "../../../agent/client/json-text.ts";
import { daemonPods } from "../../../agent/controllers/daemonset/daemon-pod.ts";
import { knownRevision, presentHash, revisionData } from "../../../agent/controllers/daemonset/history.ts";
import { trimDaemonSet } from "../../../agent/informer/kinds/trim.ts";
import { Indexer } from "../../../storage/indexer/indexer.ts";
import { openCache } from "../informer/cache.ts";

const largest = "9223372036854775807";
const nextLargest = "9223372036854775806";

/** The JSON of a DaemonSet as an API server sends it, with these seconds in a toleration. */
const setText = (seconds: string, more = ""): string => `{
  "metadata":{"name":"agent","namespace":"default","uid":"u","resourceVersion":"7","labels":{"built":"1234567890123456789"}${more}},
  "spec":{"selector":{"matchLabels":{"app":"agent"}},"template":{"metadata":{"labels":{"app":"agent"}},"spec":{
    "terminationGracePeriodSeconds":9007199254740993,"securityContext":{"runAsUser": -${largest}},
    "tolerations":[{"key":"gpu","operator":"Exists","effect":"NoExecute","tolerationSeconds":${seconds}}],
    "containers":[{"name":"main","image":"agent:1"}]}}}}`;

function listed(text: string): DaemonSet {
  const seen: DaemonSet[] = [];
  const decoder = new ListDecoder<DaemonSet>(daemonSets, { each: (object) => seen.push(object) });
  decoder.push(Buffer.from(`{"kind":"DaemonSetList","metadata":{"resourceVersion":"7"},"items":[${text},${text}]}`));
  decoder.end();
  expect(decoder.rejected).toEqual([]);
  const [, second] = seen;
  if (seen.length !== 2 || !second) throw new Error("two sets were listed");
  return second;
}

/** The set after it was listed, stored, and read from the disk. */
function cached(text: string): DaemonSet {
  const database = openCache();
  const parse = parserOf(daemonSets);
  const indexer = new Indexer<DaemonSet>({ database, resource: "daemonsets", indices: {}, decodedBytes: 0, parse });
  indexer.table.replace("default/agent", undefined, trimDaemonSet(listed(text)));
  const read = indexer.get("default/agent");
  if (!read) throw new Error("it was stored");
  return read;
}

const revised = (set: DaemonSet): string => bodyText(controllerRevisions, atOnce(revisionData(set)));

test("int64 values of a template arrive in the pods and in the revision exactly as they were written", () => {
  const set = cached(setText(largest));
  for (const text of [bodyText(pods, daemonPods(set, "hash")("pi-1")), revised(set)]) {
    expect(text).toContain(`"tolerationSeconds":${largest}`);
    expect(text).toContain('"terminationGracePeriodSeconds":9007199254740993');
    expect(text).toContain(`"runAsUser":-${largest}`);
  }
  expect(set.metadata.labels).toEqual({ built: "1234567890123456789" });
});

test("templates that differ only in the last digit of an int64 have different hashes, and different revisions", () => {
  const [set, other] = [cached(setText(largest)), cached(setText(nextLargest))];
  const revision = (of: DaemonSet): ControllerRevision => {
    const metadata = { name: "r", namespace: "default", uid: "r", resourceVersion: "1" };
    // As it arrives from the server.
    const text = JSON.stringify({ metadata, revision: 1, data: atOnce(revisionData(of)) });
    return parserOf(controllerRevisions)(text) as ControllerRevision;
  };
  expect(atOnce(knownRevision(set, revision(set))).isPresent).toBe(true);
  expect(atOnce(knownRevision(set, revision(other))).isPresent).toBe(false);
  expect(atOnce(presentHash(set))).toBe(atOnce(presentHash(cached(setText(largest)))));
  expect(atOnce(presentHash(set))).not.toBe(atOnce(presentHash(other)));
});

test.each([
  ["9007199254740991", 2 ** 53 - 1],
  ["-9007199254740991", 1 - 2 ** 53],
  ["1e300", 1e300],
  ["1234567890123456.5", 1234567890123456.5],
  ["0.12345678901234567890", 0.12345678901234568],
])("a number that does not lose integer digits remains a number: %s", (text, number) => {
  expect(parserOf(daemonSets)(`[ ${text}]`)).toEqual([number]);
});

test.each(["9007199254740992", "-9007199254740993", "123456789012345678901234567890"])(
  "an integer beyond 2^53 is kept with all its digits: %s",
  (text) => {
    for (const json of [`{"a": ${text}}`, `[1,\n${text}]`]) {
      expect(JSON.stringify(parserOf(daemonSets)(json))).toBe(json.replaceAll(/\s/g, ""));
    }
    // Nothing else is written again.
    expect(parserOf(pods)(`[${text}]`)).toEqual([Number(text)]);
  },
);

test("elsewhere, an integer beyond 2^53 is rounded to a number, or dropped like any value of a wrong type", () => {
  const elsewhere = `,"generation":${largest},"deletionGracePeriodSeconds":${largest},"annotations":{"a":"b","c":${largest}}`;
  const text = setText("5", elsewhere).replace(
    /}$/,
    `,"status":{"observedGeneration":${largest},"conditions":${largest}}}`,
  );
  const set = trimDaemonSet(listed(text));
  expect(set.metadata).not.toHaveProperty("generation");
  expect(set.metadata.annotations).toEqual({ a: "b" });
  expect(set.status).toEqual({});
  expect(listed(setText("5").replace(/}$/, `,"status":${largest}}`))).not.toHaveProperty("status");
});

test("JSON of more than 20 000 values is read as quickly as any other, and its large integers are rounded", () => {
  const groups = (count: number): unknown => parserOf(daemonSets)(`{"a":[${"5,".repeat(count)}${largest}]}`);
  const last = (value: unknown): unknown => (value as { readonly a: readonly unknown[] }).a.at(-1);
  expect(isRawInteger(last(groups(20_000)))).toBe(true);
  expect(last(groups(20_001))).toBe(Number(largest));
});

test("the search for large integers takes linear time", () => {
  for (const text of [`"${":".repeat(1_000_000)}"`, `[${" ".repeat(1_000_000)}1]`]) {
    const begun = performance.now();
    try {
      parserOf(daemonSets)(text);
    } catch (error) {
      expect(error).toBeInstanceOf(SyntaxError);
    }
    expect(performance.now() - begun).toBeLessThan(500);
  }
});
