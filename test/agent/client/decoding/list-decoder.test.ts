import { expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { parseObject } from "../../../../agent/api/parse.ts";
import { pods } from "../../../../agent/api/resources.ts";
import { ListDecoder } from "../../../../agent/client/decoding/list-decoder.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";

const pod = (name: string, more: object = {}) => ({
  metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "7" },
  ...more,
});

function decoded(text: string, pieces: (bytes: Buffer) => Iterable<Uint8Array> = (bytes) => [bytes]) {
  const seen: Pod[] = [];
  const decoder = new ListDecoder<Pod>(pods, { each: (object) => seen.push(object) });
  for (const piece of pieces(Buffer.from(text))) decoder.push(piece);
  const meta = decoder.end();
  const { items, rejectedItems, rejected } = decoder;
  return { seen, meta, items, rejectedItems, rejected };
}

/** A second opinion on where the items of a list end, for lists that begin with them. */
function itemTexts(list: string): readonly string[] {
  const texts: string[] = [];
  let [depth, from] = [0, 0];
  for (const { 0: token, index } of list.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[{}[\],]/gs)) {
    if (depth === 2 && (token === "," || token === "]")) texts.push(list.slice(from, index).trim());
    if ((depth === 1 && token === "[") || (depth === 2 && token === ",")) from = index + 1;
    if (token === "{" || token === "[") depth++;
    else if ((token === "}" || token === "]") && --depth === 1) break;
  }
  return texts.filter((text) => text !== "");
}

const namesOf = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => {
    try {
      const value: unknown = JSON.parse(text);
      const parsed = parseObject(value, pods);
      return parsed.ok ? [parsed.object.metadata.name] : [];
    } catch {
      return [];
    }
  });

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
])("a list with %s is read, regardless of where the chunks are cut", (_, listOf) => {
  const text = listOf(JSON.stringify([pod("a", { spec: nasty }), pod("b"), pod("ü😀")], null, 1));
  for (const pieces of [undefined, byteByByte]) {
    const { seen, meta, rejected } = decoded(text, pieces);
    expect(meta).toEqual({ resourceVersion: "812", continue: "abc" });
    expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "ü😀"]);
    expect(seen[0]).toMatchObject({ apiVersion: "v1", kind: "Pod", spec: nasty });
    expect(rejected).toEqual([]);
  }
});

test("random chunk boundaries do not change the result", () => {
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
])("%s has no items and returns its resourceVersion", (_, text) => {
  expect(decoded(text)).toMatchObject({
    items: 0,
    rejectedItems: 0,
    meta: { resourceVersion: "5", continue: undefined },
  });
});

test("unusable objects are left out and named; the others are kept", () => {
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

test("a malformed item does not affect its neighbours", () => {
  const good = JSON.stringify(pod("a"));
  const { seen, rejected, meta } = decoded(`{"metadata":{"resourceVersion":"5"},"items":[{"a":tru},${good},{"b" 1}]}`);
  expect(seen).toHaveLength(1);
  expect(rejected).toEqual(["a Pod that is not JSON", "a Pod that is not JSON"]);
  expect(meta?.resourceVersion).toBe("5");
});

test("the reasons for the first ten unusable objects are kept, and all are counted", () => {
  const { rejected, rejectedItems } = decoded(
    JSON.stringify({ items: Array(5000).fill(1), metadata: { resourceVersion: "5" } }),
  );
  expect([rejected.length, rejectedItems]).toEqual([10, 5000]);
});

test("an object of nine megabytes is left out without being held in memory", () => {
  const big = JSON.stringify(pod("big", { spec: { x: "y".repeat(9 * 1024 * 1024) } }));
  const pieces = function* (bytes: Buffer) {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  };
  const text = `{"items":[${big},${JSON.stringify(pod("a"))}],"metadata":{"resourceVersion":"5"}}`;
  const { seen, rejected } = decoded(text, pieces);
  expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a"]);
  expect(rejected).toEqual(["Pod default/big of more than 8388608 bytes"]);
});

test.each([
  ["cut inside an item", '{"metadata":{"resourceVersion":"5"},"items":[{"a":1'],
  ["cut before its end", '{"metadata":{"resourceVersion":"5"},"items":[]'],
  ["without a resourceVersion", '{"metadata":{},"items":[]}'],
  ["without items", '{"metadata":{"resourceVersion":"5"}}'],
  ["that is a web page", "<html>{}</html>"],
  ["that is a list of lists", "[[],[]]"],
  ["with a closing bracket that was never opened", "]}]}{"],
  ["that is empty", ""],
])("a list %s is refused", (_, text) => {
  expect(decoded(text).meta).toBeUndefined();
  expect(decoded(text, byteByByte).meta).toBeUndefined();
});

test("random damage never causes an exception", () => {
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

/** Texts that look like the border between two items, where none is. */
const decoys = [
  { parts: [pod("inner"), pod("inner")] },
  { note: `},${JSON.stringify(pod("quoted")).slice(0, 30)}` },
  { a: [{}, {}, [[{ metadata: { name: 1 } }, { metadata: { name: 2 } }]]] },
  { "}],": "]}" },
  { big: "z".repeat(150_000) },
  {},
];

test("text that looks like the end of an item does not end it", () => {
  const random = new SeededRandom(23);
  for (let round = 0; round < 60; round++) {
    const items = Array.from({ length: 1 + random.integer(30) }, (_, i) =>
      random.next() < 0.3
        ? { spec: decoys[random.integer(decoys.length)], ...pod(`p${i}`) }
        : pod(`p${i}`, decoys[i % 4]),
    );
    const indent = random.next() < 0.2 ? 1 : undefined;
    const text = JSON.stringify({ items, metadata: { resourceVersion: "5" } }, null, indent);
    const cut = function* (bytes: Buffer) {
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + random.integer(round % 2 === 0 ? 300 : 70_000);
        yield bytes.subarray(at, end);
        at = end;
      }
    };
    const { seen, meta, rejected } = decoded(text, cut);
    expect(rejected).toEqual([]);
    expect(seen).toEqual(items.map((item) => ({ apiVersion: "v1", kind: "Pod", ...item })));
    expect(meta?.resourceVersion).toBe("5");
  }
});

test("from a damaged list the decoder accepts the same objects as a byte-wise reader", () => {
  const random = new SeededRandom(29);
  const healthy = Array.from({ length: 12 }, (_, i) => pod(`p${i}`, i % 3 === 0 ? decoys[i % 4] : { spec: nasty }));
  const text = JSON.stringify({ items: healthy, metadata: { resourceVersion: "5" } });
  let broken = 0;
  for (let round = 0; round < 2000; round++) {
    const bytes = Buffer.from(text);
    // Not around the items: without that part no reader finds any.
    const at = 10 + random.integer(bytes.length - 50);
    bytes[at] = random.next() < 0.3 ? 0x20 : (Buffer.from('{}[]",:\\x')[random.integer(9)] ?? 0);
    const damaged = bytes.toString("latin1");
    const { seen, rejectedItems } = decoded(damaged, (all) => [all.subarray(0, at), all.subarray(at)]);
    expect(seen.map(({ metadata }) => metadata.name)).toEqual(namesOf(itemTexts(damaged)));
    if (rejectedItems > 0) broken++;
  }
  expect(broken).toBeGreaterThan(100);
});

test("a list whose items all begin differently is read", () => {
  const items = Array.from({ length: 3000 }, (_, i) =>
    i % 2 === 0 ? pod(`p${i}`) : { [`k${i}`]: 1, ...pod(`p${i}`) },
  );
  const { seen } = decoded(JSON.stringify({ metadata: { resourceVersion: "5" }, items }));
  expect(seen).toHaveLength(3000);
});
