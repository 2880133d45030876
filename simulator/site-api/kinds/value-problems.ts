import type { JsonValue } from "../../../agent/api/json.ts";
import { invalidValue, type Problem } from "../requests/problems.ts";

export const protocols = ["SCTP", "TCP", "UDP"];

export const duplicateValue = (field: string, value: JsonValue): Problem => ({
  reason: "FieldValueDuplicate",
  message: `Duplicate value: ${JSON.stringify(value)}`,
  field,
});

export const valueNotFound = (field: string, value: JsonValue): Problem => ({
  reason: "FieldValueNotFound",
  message: `Not found: ${JSON.stringify(value)}`,
  field,
});

export const negativeProblems = (field: string, value: JsonValue | undefined): readonly Problem[] =>
  typeof value === "number" && value < 0 ? [invalidValue(field, value, "must be greater than or equal to 0")] : [];

export const portProblems = (field: string, port: JsonValue | undefined): readonly Problem[] =>
  typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536
    ? []
    : [invalidValue(field, port, "must be between 1 and 65535, inclusive")];
