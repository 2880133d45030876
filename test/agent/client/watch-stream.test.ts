import { expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { pods } from "../../../agent/api/resources.ts";
import { type WatchEvent, watchEvents } from "../../../agent/client/watch-stream.ts";
import { SeededRandom } from "../../support/seeded-random.ts";

const pod = (name: string, resourceVersion = "7", more: object = {}) => ({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion },
  ...more,
});
const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;

async function* arriving(text: string | Buffer, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function events(text: string | Buffer, size = 1 << 20, metadataOnly = false): Promise<WatchEvent<Pod>[]> {
  const all: WatchEvent<Pod>[] = [];
  const attempt = { verb: "watch", target: "pods" } as const;
  const watched = { resource: pods, metadataOnly };
  for await (const event of watchEvents<Pod>(arriving(text, size), watched, attempt)) all.push(event);
  return all;
}

const bookmark = { kind: "Pod", apiVersion: "v1", metadata: { resourceVersion: "90" } };

test("events are returned in order, regardless of where the stream is cut", async () => {
  const text =
    line("ADDED", pod("a")) +
    line("MODIFIED", pod("ä😀", "8")) +
    line("BOOKMARK", bookmark) +
    line("DELETED", pod("a", "9"));
  for (const size of [1, 2, 3, 17, 1000]) {
    expect(await events(text, size)).toMatchObject([
      { type: "ADDED", object: { metadata: { name: "a" } } },
      { type: "MODIFIED", object: { metadata: { name: "ä😀", resourceVersion: "8" } } },
      { type: "BOOKMARK", resourceVersion: "90" },
      { type: "DELETED", object: { metadata: { name: "a", resourceVersion: "9" } } },
    ]);
  }
});

test("the last event is read without a line end; half an event is reported", async () => {
  expect(await events(line("ADDED", pod("a")).trim())).toMatchObject([{ type: "ADDED" }]);
  expect(await events(line("ADDED", pod("a")) + line("ADDED", pod("b", "8")).slice(0, -4))).toMatchObject([
    { type: "ADDED" },
    { type: "UNREADABLE", why: "a line of 137 characters that is not JSON" },
  ]);
});

test.each([
  ["an object without uid", line("ADDED", { metadata: { name: "b", namespace: "d", resourceVersion: "8" } }), "8"],
  ["an event without an object", line("ADDED", undefined), undefined],
  ["a type that is an object", line({ toString: 1 } as unknown as string, pod("b", "8")), "8"],
  ["an unknown type", line("RENAMED", pod("b", "8")), "8"],
  ["an event without a type", line("", pod("b", "8")), "8"],
  ["a bookmark without a position", line("BOOKMARK", { metadata: {} }), undefined],
])("%s is reported, and the watch continues", async (_, bad, resourceVersion) => {
  const seen = await events(line("ADDED", pod("a")) + bad + line("ADDED", pod("c", "9")), 50);
  expect(seen).toHaveLength(3);
  expect(seen[1]).toMatchObject({ type: "REJECTED", why: expect.stringMatching(/./), resourceVersion });
  expect(seen[2]).toMatchObject({ type: "ADDED", object: { metadata: { name: "c" } } });
});

const partial = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };

test.each([
  ["of another kind", "ADDED", { ...pod("b", "8"), kind: "Node" }, "kind Node"],
  ["of another kind that is gone", "DELETED", { ...pod("a", "8"), kind: "Secret" }, "kind Secret"],
  ["of another version", "MODIFIED", { ...pod("b", "8"), apiVersion: "v2" }, "apiVersion v2"],
  ["of another group, without a kind", "ADDED", { ...pod("b", "8"), kind: undefined, apiVersion: "x/v1" }, "x/v1"],
  ["as a Table", "ADDED", { ...pod("b", "8"), kind: "Table", apiVersion: "meta.k8s.io/v1" }, "kind Table"],
  ["in part", "ADDED", { ...pod("b", "8"), ...partial }, "kind PartialObjectMetadata"],
  ["whose kind is an object", "ADDED", { ...pod("b", "8"), kind: { toString: 1 } }, "not a string"],
  ["whose apiVersion is a deep list", "ADDED", { ...pod("b", "8"), apiVersion: [[[[7]]]] }, "not a string"],
  ["whose bookmark is of another kind", "BOOKMARK", { ...bookmark, kind: "Node" }, "kind Node"],
  ["whose bookmark is of another version", "BOOKMARK", { ...bookmark, apiVersion: "v2" }, "apiVersion v2"],
  ["in an event of unknown type", "RENAMED", { ...pod("b", "8"), kind: "Node" }, "kind Node"],
])("an object %s is reported, and its version does not become the watch's position", async (_, type, object, why) => {
  const seen = await events(line("ADDED", pod("a")) + line(type, object) + line("ADDED", pod("c", "9")), 50);
  expect(seen).toMatchObject([
    { type: "ADDED" },
    { type: "REJECTED", why: expect.stringContaining(why) },
    { type: "ADDED", object: { metadata: { name: "c" } } },
  ]);
  expect(seen[1]).toHaveProperty("resourceVersion", undefined);
});

test("partial metadata is accepted where it was requested, and so is a whole object", async () => {
  const text =
    line("ADDED", { ...pod("a"), ...partial }) +
    line("BOOKMARK", { ...bookmark, ...partial }) +
    line("ADDED", pod("b", "8"));
  expect(await events(text, 50, true)).toMatchObject([
    { type: "ADDED", object: { kind: "Pod" } },
    { type: "BOOKMARK", resourceVersion: "90" },
    { type: "ADDED" },
  ]);
});

test.each([
  ["garbage", "%$&/\n"],
  ["two events that ran into each other", `{"type":"ADDED","object":{"met${line("ADDED", pod("b", "8"))}`],
  ["a number", "5\n"],
])("%s is not an event, and it is unknown which event was lost", async (_, bad) => {
  const seen = await events(line("ADDED", pod("a")) + bad, 50);
  expect(seen).toMatchObject([{ type: "ADDED" }, { type: "UNREADABLE", why: expect.stringMatching(/./) }]);
});

test("only the identity of a deleted object is read", async () => {
  const odd = pod("odd", "8", { spec: { tolerations: "all" } });
  expect(await events(line("MODIFIED", odd))).toMatchObject([{ type: "REJECTED", resourceVersion: "8" }]);
  const [event] = await events(line("DELETED", odd));
  expect(event).toMatchObject({ type: "DELETED", object: { metadata: { name: "odd", resourceVersion: "8" } } });
  expect(await events(line("DELETED", { ...odd, metadata: { name: "odd" } }))).toMatchObject([{ type: "REJECTED" }]);
});

test("blank lines are ignored", async () => {
  expect(await events(`\n\r\n${line("ADDED", pod("a"))}\n`)).toHaveLength(1);
});

test("an error of the server becomes an ApiError with its disposition", async () => {
  const status = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version: 5 (9)" };
  const [event] = await events(line("ERROR", status));
  expect(event).toMatchObject({
    type: "ERROR",
    error: {
      status: 410,
      reason: "Expired",
      disposition: "relist",
      message: "watch pods: too old resource version: 5 (9)",
    },
  });
  expect(await events(line("ERROR", "?"))).toMatchObject([{ type: "ERROR", error: { disposition: "retry" } }]);
});

test("a line of nine megabytes is skipped and reported once, with its position", async () => {
  const big = line("MODIFIED", pod("big", "8", { spec: { x: "y".repeat(9 * 1024 * 1024) } }));
  const seen = await events(big + line("ADDED", pod("c", "9")), 65_536);
  expect(seen).toMatchObject([
    {
      type: "REJECTED",
      why: "Pod default/big: an event of more than 8388608 bytes",
      resourceVersion: "8",
      identity: { metadata: { name: "big", uid: "uid-big" } },
    },
    { type: "ADDED", object: { metadata: { name: "c" } } },
  ]);
  expect(await events(big.trim(), 65_536)).toMatchObject([{ type: "REJECTED", resourceVersion: "8" }]);
  const strange = await events(big.replace('"Pod"', '"Node"'), 65_536);
  expect(strange).toEqual([
    {
      type: "REJECTED",
      why: "Pod default/big: has kind Node: an event of more than 8388608 bytes",
      resourceVersion: undefined,
    },
  ]);
});

const tolerating = (count: number) => ({
  spec: { tolerations: Array.from({ length: count }, (_, at) => ({ key: `k-${at}` })) },
});

test.each([
  ["fifty thousand tolerations", true, tolerating(50_000)],
  ["nine megabytes of text", true, { spec: { x: "y".repeat(9 * 1024 * 1024) } }],
  ["a shape that no reader takes", false, { spec: { tolerations: "all" } }],
])("an object with %s is deleted when its deletion arrives, and reported otherwise", async (_, isLarge, more) => {
  const identity = { name: "big", namespace: "default", uid: "uid-big", resourceVersion: "8" };
  const object = pod("big", "8", more);
  expect(await events(line("DELETED", object), 65_536)).toEqual([
    { type: "DELETED", object: { kind: "Pod", apiVersion: "v1", metadata: identity }, isBare: true },
  ]);
  for (const type of ["ADDED", "MODIFIED"]) {
    expect(await events(line(type, object), 65_536)).toMatchObject([
      {
        type: "REJECTED",
        why: expect.stringMatching(/^Pod default\/big: /),
        resourceVersion: "8",
        identity: { metadata: identity },
      },
    ]);
  }
  const nameless = { ...object, metadata: { ...object.metadata, uid: undefined } };
  expect(await events(line("DELETED", nameless), 65_536)).toMatchObject([
    { type: isLarge ? "UNREADABLE" : "REJECTED" },
  ]);
});

test("an event is accepted without the fields that no reader needs, regardless of where they are", async () => {
  const many = Object.fromEntries(Array.from({ length: 12_000 }, (_, at) => [`a-${at}`, '{"{}":"[\\""}']));
  const other = { "kubernetes.io/config.mirrors": "hash" };
  const object = pod("web", "8", {
    spec: {
      containers: [{ image: "x", name: "a", env: Object.keys(many) }],
      nodeName: "pi-1",
      volumes: [{ ...many, name: "v", persistentVolumeClaim: { claimName: "c", ...many } }],
    },
    status: { images: many, phase: "Running" },
  });
  const mirror = { "kubernetes.io/config.mirror": "hash", "siteward.dev/on-silence": "hold" };
  const metadata = {
    annotations: { ...many, ...mirror, ...other },
    ...object.metadata,
    managedFields: [many, many],
    labels: { app: "web" },
  };
  expect(await events(line("MODIFIED", { ...object, metadata }), 65_536)).toEqual([
    {
      type: "MODIFIED",
      object: {
        ...object,
        metadata: { ...object.metadata, annotations: mirror, labels: { app: "web" } },
        spec: {
          containers: [{ name: "a" }],
          nodeName: "pi-1",
          volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }],
        },
        status: { phase: "Running" },
      },
    },
  ]);
});

test("an annotation of two megabytes is read in an event too", async () => {
  const object = pod("big", "8");
  const annotated = { ...object, metadata: { ...object.metadata, annotations: { x: "y".repeat(2 * 1024 * 1024) } } };
  expect(await events(line("ADDED", annotated), 16_384)).toMatchObject([{ type: "ADDED" }]);
});

test("random damage never causes an exception", async () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(line("ADDED", pod("a")).repeat(5));
    for (let hit = 0; hit < 4; hit++) bytes[random.integer(bytes.length)] = random.integer(256);
    await events(bytes, 1 + random.integer(200));
  }
});

test("11 KB events are read at more than 4000 a second, and memory stays flat", async () => {
  const containers = Array.from({ length: 60 }, (_, i) => ({
    name: `c${i}`,
    image: `registry.example/app:${i}`,
    env: [{ name: "A", value: "b".repeat(90) }],
  }));
  const bytes = Buffer.from(line("MODIFIED", pod("a", "8", { spec: { containers } })));
  expect(bytes.length).toBeGreaterThan(10_000);
  const total = 8000;
  let memory = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < total; i++) {
      yield bytes.subarray(0, 8000);
      yield bytes.subarray(8000);
    }
  }
  let count = 0;
  const start = performance.now();
  for await (const event of watchEvents<Pod>(chunks(), { resource: pods }, { verb: "watch", target: "pods" })) {
    if (event.type === "MODIFIED") count++;
    if (count === 1000) memory = process.memoryUsage().arrayBuffers;
  }
  const rate = total / ((performance.now() - start) / 1000);
  expect(count).toBe(total);
  expect(process.memoryUsage().arrayBuffers - memory).toBeLessThan(4 * 1024 * 1024);
  // Half of the target: this machine may be busy with other tests.
  expect(rate).toBeGreaterThan(2000);
});
