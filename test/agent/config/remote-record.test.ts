import { expect, test } from "vitest";
import { blank, decodeRecord, recordStart } from "../../../agent/config/remote-record.ts";

const document = (version: number) => ({ version, hash: "a".repeat(64), config: {} });
const trial = { document: document(4), canaryMs: 60_000, before: { lease: true, api: true, mqtt: true }, starts: 1 };
const verdict = { version: 5, hash: "b", state: "rejected", faults: [{ path: "/x", code: "schema" }] };

test("a written record is read back", () => {
  const record = { desired: document(5), trial, current: document(3), good: [document(2)], verdict };
  expect(decodeRecord(JSON.stringify({ v: 1, ...record }))).toEqual(record);
});

test.each([
  ["counts starts in an object", { ...trial, starts: { toString: 2 } }],
  ["counts no starts", { ...trial, starts: undefined }],
  ["has text for a duration", { ...trial, canaryMs: "60" }],
])("a record whose trial %s is ignored, since a start with it would fail each time", (_, odd) => {
  const record = decodeRecord(JSON.stringify({ v: 1, trial: odd, current: document(3) }));
  expect(record).toBeUndefined();
  expect(() => recordStart(record ?? blank)).not.toThrow();
});

test.each([
  ["without faults", { ...verdict, faults: undefined }],
  ["with a fault that is a number", { ...verdict, faults: [7] }],
  ["that is a string", "rejected"],
])("a verdict %s is dropped, and the settings in force are kept", (_, odd) => {
  const record = decodeRecord(JSON.stringify({ v: 1, current: document(3), verdict: odd }));
  expect(record).toMatchObject({ current: document(3), verdict: undefined });
});
