import { expect, test } from "vitest";
import { controllerRevisions, pods } from "../../../agent/api/resources.ts";
import { bodyText, jsonText } from "../../../agent/client/json-text.ts";

test("characters that Go escapes are escaped, and the JSON reads back unchanged", () => {
  const value = { command: "a && b > c < d", lines: "\u2028 and \u2029", quote: '"\\&"', name: "größe" };
  const text = jsonText(value);
  expect(text).toBe(
    '{"command":"a \\u0026\\u0026 b \\u003e c \\u003c d","lines":"\\u2028 and \\u2029","quote":"\\"\\\\\\u0026\\"","name":"größe"}',
  );
  expect(JSON.parse(text)).toEqual(value);
});

test("only revisions are escaped like that, because elsewhere a tenant's JSON would become six times as long", () => {
  const value = { spec: { command: "&".repeat(1000) } };
  expect(bodyText(pods, value)).toBe(JSON.stringify(value));
  expect(bodyText(controllerRevisions, value)).toBe(jsonText(value));
});

test("a body that no API server accepts is refused before it is built", () => {
  const value = { data: `${"<".repeat(1_300_000)}€` };
  expect(() => jsonText(value)).toThrow("it has 7800012 characters as JSON, more than the limit of 3145728");
  expect(jsonText({ data: "<".repeat(500_000) })).toHaveLength(3_000_011);
});
