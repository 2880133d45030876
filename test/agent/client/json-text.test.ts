import { expect, test } from "vitest";
import { jsonText } from "../../../agent/client/json-text.ts";

test("what Go escapes is escaped, and reads as it was", () => {
  const value = { command: "a && b > c < d", lines: "\u2028 and \u2029", quote: '"\\&"', name: "größe" };
  const text = jsonText(value);
  expect(text).toBe(
    '{"command":"a \\u0026\\u0026 b \\u003e c \\u003c d","lines":"\\u2028 and \\u2029","quote":"\\"\\\\\\u0026\\"","name":"größe"}',
  );
  expect(JSON.parse(text)).toEqual(value);
});
