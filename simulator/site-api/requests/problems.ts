import type { JsonValue } from "../../../agent/api/json.ts";

/** A problem of one field, in the form in which a Status lists it among its causes. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

export const required = (field: string, why?: string): Problem => ({
  reason: "FieldValueRequired",
  message: why === undefined ? "Required value" : `Required value: ${why}`,
  field,
});

export const invalidValue = (field: string, value: JsonValue | undefined, why: string): Problem => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${shown(value)}: ${why}`,
  field,
});

export const forbiddenField = (field: string, why: string): Problem => ({
  reason: "FieldValueForbidden",
  message: `Forbidden: ${why}`,
  field,
});

export const unsupportedValue = (field: string, value: JsonValue, supported: readonly string[]): Problem => ({
  reason: "FieldValueNotSupported",
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((one) => JSON.stringify(one)).join(", ")}`,
  field,
});

export const tooLong = (field: string, limit: number): Problem => ({
  reason: "FieldValueTooLong",
  message: `Too long: may not be more than ${limit} bytes`,
  field,
});

/** A value for a message, truncated, because it may be huge and the message must stay readable. */
function shown(value: JsonValue | undefined): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
