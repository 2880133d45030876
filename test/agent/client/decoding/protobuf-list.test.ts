import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import type { KubeObject } from "../../../../agent/api/meta.ts";
import { leases, pods, type Resource } from "../../../../agent/api/resources.ts";
import { ListDecoder, listForms } from "../../../../agent/client/decoding/list-decoder.ts";
import { trimPod } from "../../../../agent/informer/kinds/trim.ts";
import { SeededRandom } from "../../../support/seeded-random.ts";
import { concat, envelope, field } from "./protobuf-bytes.ts";
import { fullPod } from "./samples/full-pod.ts";

const sample = (name: string): string => readFileSync(path.join(import.meta.dirname, "samples", name), "utf8");

/** Two forms of one answer of a kube-apiserver 1.36, to the same question: pods of which one has all that we keep. */
const asJson = Buffer.from(sample("pod-list.json"));
const asProtobuf = Buffer.from(sample("pod-list.protobuf.txt"), "base64");

const whole = (bytes: Buffer): Iterable<Uint8Array> => [bytes];
const byteByByte = (bytes: Buffer): Iterable<Uint8Array> => [...bytes].map((byte) => Uint8Array.of(byte));
const inPiecesOf = (size: number) =>
  function* (bytes: Buffer): Iterable<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };

function decoded(bytes: Buffer, pieces: (bytes: Buffer) => Iterable<Uint8Array> = whole) {
  const seen: Pod[] = [];
  const tokens: string[] = [];
  const decoder = new ListDecoder<Pod>(pods, {
    each: (object) => seen.push(object),
    onContinue: (token) => tokens.push(token),
  });
  for (const piece of pieces(bytes)) decoder.push(piece);
  const meta = decoder.end();
  const { items, rejectedItems, rejected, unusable } = decoder;
  return { seen, tokens, meta, items, rejectedItems, rejected, unusable };
}

test("a list in protobuf gives the same objects as the list in JSON", () => {
  const [json, protobuf] = [decoded(asJson), decoded(asProtobuf)];
  expect(protobuf.seen.map(trimPod)).toEqual(json.seen.map(trimPod));
  expect(protobuf.meta).toEqual(json.meta);
  expect(protobuf.tokens).toEqual([json.meta?.continue]);
  expect([protobuf.items, protobuf.rejected]).toEqual([4, []]);
});

test("the sample pod has every field that the cache keeps, and some others", () => {
  const names = (value: unknown, at = ""): readonly string[] =>
    typeof value !== "object" || value === null
      ? [at]
      : Object.entries(value).flatMap(([name, one]) => names(one, `${at}.${Array.isArray(value) ? "" : name}`));
  const [full] = decoded(asJson).seen;
  if (full === undefined) throw new Error("there is no pod in the sample");
  const kept = new Set(names(trimPod(full)));
  for (const name of [".metadata.deletionTimestamp", ".spec.tolerations..tolerationSeconds", ".status.podIPs..ip"]) {
    expect(kept).toContain(name);
  }
  expect(kept.size).toBeGreaterThan(55);
  expect(new Set(names(full)).size).toBeGreaterThan(kept.size + 30);
  expect(full.metadata.name).toBe(fullPod.metadata.name);
});

test("a list in protobuf is read regardless of where the chunks are cut", () => {
  const { seen, meta } = decoded(asProtobuf);
  const sizes = [2, 3, 5, 7, 100, 1000, 4096].map(inPiecesOf);
  for (const pieces of [byteByByte, ...sizes]) {
    const cut = decoded(asProtobuf, pieces);
    expect(cut.seen).toEqual(seen);
    expect(cut.meta).toEqual(meta);
  }
});

test("a list truncated anywhere is incomplete", () => {
  for (let end = 0; end < asProtobuf.length - 4; end++)
    expect(decoded(asProtobuf.subarray(0, end)).meta).toBeUndefined();
});

test("random damage neither causes an exception nor yields an invalid pod", () => {
  const random = new SeededRandom(17);
  let [lost, refused] = [0, 0];
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(asProtobuf);
    for (let hit = 0; hit < 3; hit++) bytes[random.integer(bytes.length)] = random.integer(256);
    const { seen, meta, rejectedItems } = decoded(bytes, inPiecesOf(1 + random.integer(5000)));
    for (const { metadata, spec } of seen) {
      expect([metadata.name, metadata.uid, metadata.resourceVersion]).not.toContain("");
      expect(["string", "undefined"]).toContain(typeof spec?.nodeName);
    }
    if (meta === undefined) lost++;
    if (rejectedItems > 0) refused++;
  }
  expect(lost).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(20);
});

const little = (name: string, ...more: readonly Buffer[]): Buffer =>
  concat(
    field(1, concat(field(1, name), field(3, "default"), field(5, `uid-${name}`), field(6, "7"))),
    field(2, concat(...more)),
    field(3, field(1, "Running")),
  );
const listOf = (...items: readonly Buffer[]): Buffer =>
  envelope("PodList", concat(field(1, field(2, "812")), ...items.map((item) => field(2, item))));

test.each([
  ["that is empty", listOf(), []],
  ["of one object", listOf(little("a")), ["a"]],
  [
    "with a field that a newer server added",
    envelope("PodList", concat(field(9, 1), field(1, field(2, "8")), field(11, "new"), field(2, little("a")))),
    ["a"],
  ],
  ["whose metadata comes last", envelope("PodList", concat(field(2, little("a")), field(1, field(2, "8")))), ["a"]],
])("a list %s is read", (_, bytes, names) => {
  for (const pieces of [whole, byteByByte]) {
    const { seen, meta } = decoded(bytes, pieces);
    expect(seen.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(meta?.resourceVersion).toMatch(/^8/);
  }
});

test("an object that is malformed or unusable is left out and named; its neighbours are kept", () => {
  const broken = concat(little("b"), Buffer.from([0x0a, 0x7f, 1]));
  const nameless = field(1, field(5, "uid"));
  const { seen, rejected, rejectedItems, meta } = decoded(listOf(little("a"), broken, nameless, little("c")));
  expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
  expect(rejected).toEqual(["a Pod that cannot be read: a message ends too early", "Pod: has no metadata.name"]);
  expect([rejectedItems, meta?.resourceVersion]).toEqual([2, "812"]);
});

test("an object of nine megabytes is left out without being held in memory", () => {
  const big = little("big", field(10, "x".repeat(9 * 1024 * 1024)));
  const bytes = listOf(little("a"), big, little("c"));
  for (const pieces of [whole, inPiecesOf(65_536)]) {
    const { seen, rejected, meta } = decoded(bytes, pieces);
    expect(seen.map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
    expect(rejected).toEqual(["a Pod of more than 8388608 bytes"]);
    expect(meta?.resourceVersion).toBe("812");
  }
});

test("numbers are read exactly, including negative ones", () => {
  const seconds = [0n, 1n, 127n, 128n, 300n, 2n ** 31n, 2n ** 53n - 1n, -1n, -300n, -(2n ** 53n) + 1n];
  const tolerations = seconds.map((value) => field(22, concat(field(1, "k"), field(5, value))));
  const { seen } = decoded(listOf(little("a", ...tolerations)));
  expect(seen[0]?.spec?.tolerations?.map(({ tolerationSeconds }) => tolerationSeconds)).toEqual(seconds.map(Number));
});

test("a label named like a built-in member has no special effect", () => {
  const labels = ["__proto__", "constructor", "app"].map((key) => field(11, concat(field(1, key), field(2, "x"))));
  const metadata = concat(field(1, "a"), field(3, "default"), field(5, "u"), field(6, "7"), ...labels);
  const { seen } = decoded(listOf(field(1, metadata)));
  expect(seen[0]?.metadata.labels).toEqual({ constructor: "x", app: "x" });
  expect(Object.getPrototypeOf(seen[0]?.metadata.labels)).toBe(Object.prototype);
});

test.each<[of: string, resource: Resource<KubeObject>, forms: string]>([
  ["pods, of which there are thousands,", pods, "application/vnd.kubernetes.protobuf,application/json"],
  ["everything else", leases, "application/json"],
])("a list of %s is requested as %s", (_, resource, forms) => {
  expect(listForms(resource)).toBe(forms);
});

test("quantities are decoded from their nested messages", () => {
  const requests = (name: string, amount: string): Buffer =>
    field(2, concat(field(1, name), field(2, field(1, amount))));
  const resources = concat(requests("cpu", "100m"), requests("memory", "16Mi"), field(1, concat(field(1, "cpu"))));
  const main = concat(field(1, "main"), field(8, resources));
  const spec = concat(
    field(2, main),
    field(32, concat(field(1, "cpu"), field(2, field(1, "10m")))),
    field(40, resources),
  );
  const metadata = concat(field(1, "web"), field(3, "default"), field(5, "u1"), field(6, "7"));
  const list = concat(field(1, field(2, "9")), field(2, concat(field(1, metadata), field(2, spec))));
  const [pod] = decoded(envelope("PodList", list)).seen;
  expect(pod?.spec).toEqual({
    containers: [{ name: "main", resources: { requests: { cpu: "100m", memory: "16Mi" } } }],
    overhead: { cpu: "10m" },
    resources: { requests: { cpu: "100m", memory: "16Mi" } },
  });
});

test("a pod of very many empty messages is refused", () => {
  const terms = Buffer.concat(Array.from({ length: 50_000 }, () => field(1, "")));
  const pod = concat(
    field(1, concat(field(1, "web"), field(3, "shop"), field(5, "u"), field(6, "8"))),
    field(2, field(18, field(1, field(1, terms)))),
  );
  const { seen, rejected, unusable, meta } = decoded(
    envelope("PodList", concat(field(1, field(2, "9")), field(2, pod))),
  );
  expect(meta?.resourceVersion).toBe("9");
  expect(seen).toEqual([]);
  expect(rejected).toEqual(["Pod shop/web that cannot be read: more than 45000 messages"]);
  const metadata = { name: "web", namespace: "shop", uid: "u", resourceVersion: "8" };
  expect(unusable).toEqual([{ identity: { apiVersion: "v1", kind: "Pod", metadata }, why: rejected[0] }]);
});

test("a pod of very many empty strings in a list is refused", () => {
  const values = Buffer.concat(Array.from({ length: 90_001 }, () => field(3, "")));
  const requirement = concat(field(1, "a"), field(2, "In"), values);
  const pod = concat(
    field(1, concat(field(1, "web"), field(3, "shop"), field(5, "u"), field(6, "8"))),
    field(2, field(18, field(1, field(1, field(1, field(1, requirement)))))),
  );
  const { seen, rejected } = decoded(envelope("PodList", concat(field(1, field(2, "9")), field(2, pod))));
  expect(seen).toEqual([]);
  expect(rejected).toEqual([expect.stringContaining("more than 90000 strings in lists")]);
});

test("only the annotation that marks mirror pods is read; the others do not count towards any limit", () => {
  const annotation = (key: string): Buffer => field(12, concat(field(1, key), field(2, "x")));
  const others = ["", "a", "kubernetes.io/config.mirro", "kubernetes.io/config.mirrors", "kubernetes.io/config.source"];
  const many = Array.from({ length: 50_000 }, (_, at) => annotation(`a-${at}`));
  const podOf = (name: string, ...annotations: readonly Buffer[]): Buffer =>
    field(1, concat(field(1, name), field(3, "default"), field(5, "u"), field(6, "7"), ...annotations));
  const mirror = annotation("kubernetes.io/config.mirror");
  const around = concat(...others.map(annotation));
  const cutOff = field(12, Buffer.from("\n\u001bkubernetes.io/config"));
  const { seen, rejected } = decoded(
    listOf(podOf("static", ...many, around, mirror, around), podOf("own", around, ...many), podOf("cut", cutOff)),
  );
  expect(rejected).toEqual([]);
  expect(seen.map(({ metadata }) => metadata.annotations)).toEqual([
    { "kubernetes.io/config.mirror": "x" },
    undefined,
    undefined,
  ]);
});
