import { openRecord, record } from "../../base/schema.ts";
import { settingsSchema } from "../../config/reference.ts";
import type { JsonSchema } from "../../config/schema.ts";
import { profileMembers, runtimeMembers } from "./profile.ts";

/** The JSON Schema of firmware profiles, for editors. It also lists fields that `profileFrom` does not check. */
export function profileSchema(): JsonSchema {
  const { json } = openRecord(profileMembers);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "siteward firmware profile",
    ...json,
    properties: {
      ...Object(json.properties),
      runtime: { ...record(runtimeMembers).json, description: "Values needed before the program starts." },
      settings: settingsSchema(),
    },
  };
}
