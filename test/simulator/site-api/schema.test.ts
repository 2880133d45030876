import { describe, expect, test } from "vitest";
import { MemberError, readMembers } from "../../../simulator/site-api/schema/members.ts";
import { repeatedMembers } from "../../../simulator/site-api/schema/repeated.ts";
import { schema } from "../../../simulator/site-api/schema/schema.ts";
import { servedKinds } from "../../../simulator/site-api/served.ts";

const plain = [
  "text",
  "int",
  "long",
  "bool",
  "bytes",
  "Quantity",
  "IntOrString",
  "Time",
  "MicroTime",
  "FieldsV1",
  "Raw",
];

describe("the schema", () => {
  test("describes every kind that is served", () => {
    expect(servedKinds.map(({ kind }) => kind).filter((kind) => !schema.has(kind))).toEqual([]);
  });

  test("describes every message that it refers to, with each number and name once", () => {
    for (const [name, message] of schema) {
      const fields = [...message.values()];
      const unknown = fields.map(({ type }) => type).filter((type) => !plain.includes(type) && !schema.has(type));
      expect({ name, unknown }).toEqual({ name, unknown: [] });
      expect(new Set(fields.map((field) => field.name)).size).toBe(fields.length);
    }
  });
});

describe("an object that is read by the schema", () => {
  test("loses fields that its kind does not have, and reports their places", () => {
    const sent = {
      metadata: { name: "a", chair: 1 },
      spec: {
        containers: [
          { name: "c", image: "i" },
          { name: "d", chairs: [1] },
        ],
        table: {},
      },
      data: 5,
    };
    const { object, unknown } = readMembers("Pod", sent);
    expect(unknown).toEqual(["metadata.chair", "spec.containers[1].chairs", "spec.table", "data"]);
    expect(object).toEqual({
      metadata: { name: "a" },
      spec: { containers: [{ name: "c", image: "i" }, { name: "d" }] },
    });
  });

  test("loses empty values, and keeps a meaningful zero", () => {
    const spec = {
      nodeName: "",
      hostNetwork: false,
      priority: 0,
      tolerations: [],
      nodeSelector: {},
      containers: [],
      terminationGracePeriodSeconds: 0,
      affinity: null,
    };
    const { object } = readMembers("Pod", { spec });
    expect(object).toEqual({ spec: { priority: 0, containers: [], terminationGracePeriodSeconds: 0 } });
  });

  test("has times in UTC: to the second, or with the six digits that were written", () => {
    const spec = { renewTime: "2026-01-02T05:04:05.000001+02:00" };
    const metadata = { creationTimestamp: "2026-01-02T03:04:05.9Z" };
    expect(readMembers("Lease", { metadata, spec }).object).toEqual({
      metadata: { creationTimestamp: "2026-01-02T03:04:05Z" },
      spec: { renewTime: "2026-01-02T03:04:05.000001Z" },
    });
  });

  test("has inlined fields in their places, and quantities as strings", () => {
    const container = { name: "c", resources: { limits: { cpu: 1, memory: "1Gi" } } };
    const spec = { volumes: [{ name: "v", emptyDir: {} }], containers: [container] };
    const { object, unknown } = readMembers("Pod", { spec });
    const read = { name: "c", resources: { limits: { cpu: "1", memory: "1Gi" } } };
    expect([object, unknown]).toEqual([{ spec: { ...spec, containers: [read] } }, []]);
  });

  test.each([
    ["a number for a string", "ConfigMap", { data: { a: 5 } }, "data.a must be a string"],
    ["a string for a number", "Lease", { spec: { leaseDurationSeconds: "40" } }, "spec.leaseDurationSeconds must be"],
    ["a number that is too large", "Lease", { spec: { leaseDurationSeconds: 2 ** 31 } }, "a whole number of 32 bits"],
    ["a fraction", "Lease", { spec: { leaseDurationSeconds: 0.5 } }, "a whole number"],
    ["an object for a list", "Pod", { spec: { tolerations: {} } }, "spec.tolerations must be a list"],
    ["a string for an item", "Pod", { spec: { containers: ["c"] } }, "spec.containers[0] must be an object"],
    [
      "a day that no month has",
      "Lease",
      { spec: { renewTime: "2026-02-30T00:00:00.000000Z" } },
      "spec.renewTime must be",
    ],
    ["a time without its digits", "Lease", { spec: { renewTime: "2026-02-03T00:00:00Z" } }, "six digits"],
    ["bytes that are not base64", "Secret", { data: { a: "###" } }, "data.a must be bytes in base64"],
    [
      "an invalid quantity",
      "Node",
      { status: { capacity: { cpu: "much" } } },
      "status.capacity.cpu must be a quantity",
    ],
  ])("cannot have %s", (_, kind, value, why) => {
    expect(() => readMembers(kind, value)).toThrow(MemberError);
    expect(() => readMembers(kind, value)).toThrow(why);
  });
});

test("duplicate fields in a document are found, regardless of where they are", () => {
  expect(repeatedMembers('{"a":1,"b":{"c":[{"d":1,"d":2},{"d":3}],"c":4},"a":{}}')).toEqual(["b.c[0].d", "b.c", "a"]);
  expect(repeatedMembers('{"a":"{\\"b\\":1,\\"b\\":2}","b":"a","c":["a","a",":"],"d":"\\\\"}')).toEqual([]);
  expect(repeatedMembers('{"a\\u0062":1,"ab":2}')).toEqual(["ab"]);
  expect(repeatedMembers("[]")).toEqual([]);
});
