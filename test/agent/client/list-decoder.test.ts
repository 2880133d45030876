import { expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { pods } from "../../../agent/api/resources.ts";
import { ListDecoder } from "../../../agent/client/list-decoder.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const pod = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "7" },
  ...more,
});

function decoded(text: string, pieces: (bytes: Buffer) => Iterable<Uint8Array> = (bytes) => [bytes]) {
  const seen: Pod[] = [];
  const decoder = new ListDecoder<Pod>(pods, (object) => seen.push(object));
  for (const piece of pieces(Buffer.from(text))) decoder.push(piece);
  const { items, rejectedItems, rejected } = decoder;
  return { seen, meta: decoder.end(), items, rejectedItems, rejected };
}

const byteByByte = (bytes: Buffer) => [...bytes].map((byte) => Uint8Array.of(byte));

/** Brackets, quotes and characters of several bytes, where they hurt. */
const nasty = {
  note: 'ä€😀 "items":[{"metadata":{}}], \\" \\\\',
  "items]": ["}", "{", "\\"],
  nested: { items: [[], {}] },
};

test.each([
  [
    "metadata before the items",
    (items: string) =>
      `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"812","continue":"abc"},"items":${items}}`,
  ],
  [
    "metadata after the items",
    (items: string) => `{"items":${items},"metadata":{"continue":"abc","resourceVersion":"812"}}`,
  ],
  [
    "blanks everywhere",
    (items: string) =>
      ` {\n"metadata" : { "resourceVersion" : "812" ,\n"continue":"abc" } , "x" : [1, {"items":[2]}], "items" :\t${items} } \n`,
  ],
])("a list with %s is read, wherever it is cut", (_, listOf) => {
  const text = listOf(JSON.stringify([pod("a", { spec: nasty }), pod("b"), pod("ü😀")], null, 1));
  for (const pieces of [undefined, byteByByte]) {
    const { seen, meta, rejected } = decoded(text, pieces);
    expect(meta).toEqual({ resourceVersion: "812", continue: "abc" });
    expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "ü😀"]);
    expect(seen[0]).toMatchObject({ apiVersion: "v1", kind: "Pod", spec: nasty });
    expect(rejected).toEqual([]);
  }
});

test("random borders between chunks change nothing", () => {
  const random = new SeededRandom(5);
  const items = Array.from({ length: 40 }, (_, i) => pod(`p${i}`, { spec: { ...nasty, nodeName: `pi-${i}` } }));
  const text = JSON.stringify({ metadata: { resourceVersion: "1" }, items });
  const whole = decoded(text).seen;
  for (let round = 0; round < 50; round++) {
    const cut = function* (bytes: Buffer) {
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + random.integer(700);
        yield bytes.subarray(at, end);
        at = end;
      }
    };
    expect(decoded(text, cut).seen).toEqual(whole);
  }
});

test.each([
  ["an empty list", '{"metadata":{"resourceVersion":"5"},"items":[]}'],
  ["an empty list with a blank", '{"metadata":{"resourceVersion":"5"},"items":[ ]}'],
  ["null, as Go writes an empty list", '{"metadata":{"resourceVersion":"5"},"items":null}'],
])("%s holds nothing and says where it stands", (_, text) => {
  expect(decoded(text)).toMatchObject({
    items: 0,
    rejectedItems: 0,
    meta: { resourceVersion: "5", continue: undefined },
  });
});

test("objects that cannot be used are left out and named; the others are taken", () => {
  const items = [pod("a"), { metadata: { name: "b" } }, 17, "text, with ] and }", null, [pod("x")], pod("c")];
  const {
    seen,
    items: taken,
    rejectedItems,
    rejected,
  } = decoded(JSON.stringify({ items, metadata: { resourceVersion: "5" } }));
  expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
  expect([taken, rejectedItems]).toEqual([2, 5]);
  expect(rejected[0]).toBe("Pod b: has no metadata.uid");
});

test("an item that is broken inside does not break its neighbours", () => {
  const good = JSON.stringify(pod("a"));
  const { seen, rejected, meta } = decoded(`{"metadata":{"resourceVersion":"5"},"items":[{"a":tru},${good},{"b" 1}]}`);
  expect(seen).toHaveLength(1);
  expect(rejected).toEqual(["a Pod that is no JSON", "a Pod that is no JSON"]);
  expect(meta?.resourceVersion).toBe("5");
});

test("reasons are kept for the first ten, all are counted", () => {
  const { rejected, rejectedItems } = decoded(
    JSON.stringify({ items: Array(5000).fill(1), metadata: { resourceVersion: "5" } }),
  );
  expect([rejected.length, rejectedItems]).toEqual([10, 5000]);
});

test("an object of nine megabytes is left out without being held", () => {
  const big = JSON.stringify(pod("big", { spec: { x: "y".repeat(9 * 1024 * 1024) } }));
  const pieces = function* (bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  };
  const text = `{"items":[${big},${JSON.stringify(pod("a"))}],"metadata":{"resourceVersion":"5"}}`;
  const { seen, rejected } = decoded(text, pieces);
  expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(rejected).toEqual(["a Pod of more than 8388608 bytes"]);
});

test.each([
  ["cut inside an item", '{"metadata":{"resourceVersion":"5"},"items":[{"a":1'],
  ["cut before its end", '{"metadata":{"resourceVersion":"5"},"items":[]'],
  ["without a resourceVersion", '{"metadata":{},"items":[]}'],
  ["without items", '{"metadata":{"resourceVersion":"5"}}'],
  ["that is a web page", "<html>{}</html>"],
  ["that is a list of lists", "[[],[]]"],
  ["that closes what it never opened", "]}]}{"],
  ["that is empty", ""],
])("a list %s is no list", (_, text) => {
  expect(decoded(text).meta).toBeUndefined();
  expect(decoded(text, byteByByte).meta).toBeUndefined();
});

test("no random damage makes it throw", () => {
  const random = new SeededRandom(11);
  const text = JSON.stringify({ metadata: { resourceVersion: "5" }, items: [pod("a", { spec: nasty }), pod("b")] });
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(text);
    for (let hit = 0; hit < 3; hit++) {
      const at = random.integer(bytes.length);
      bytes[at] = random.next() < 0.5 ? random.integer(256) : (Buffer.from('{}[]",:\\')[random.integer(8)] ?? 0);
    }
    decoded(bytes.toString("latin1"));
  }
});
