import { settingsSchema } from "../config/reference.ts";
import type { JsonSchema } from "../config/schema.ts";
import { profileSchemaName } from "./profile.ts";

/** The schema of firmware profiles, for editors: the checks of `profileFrom`, and every setting. */
export function profileSchema(): JsonSchema {
  const count = { type: "integer", minimum: 0 };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "siteward firmware profile",
    type: "object",
    required: ["schema", "id", "title", "match", "runtime", "settings"],
    properties: {
      schema: { const: profileSchemaName },
      id: { type: "string", pattern: "^[a-z0-9-]+$", description: "The file's name without .json." },
      title: { type: "string", description: "What people call the board." },
      match: {
        type: "object",
        additionalProperties: false,
        properties: {
          compatible: {
            type: "array",
            items: { type: "string" },
            description: "Entries of the device tree's compatible list. None: any board.",
          },
          ramMiB: {
            type: "array",
            items: count,
            minItems: 2,
            maxItems: 2,
            description: "From, up to but not including.",
          },
        },
      },
      runtime: {
        type: "object",
        additionalProperties: false,
        description: "What has to be known before the program starts.",
        required: ["oldSpaceMiB", "semiSpaceMiB", "jitless", "memoryHighMiB", "memoryMaxMiB"],
        properties: {
          oldSpaceMiB: count,
          semiSpaceMiB: count,
          jitless: { type: "boolean" },
          memoryHighMiB: count,
          memoryMaxMiB: count,
        },
      },
      settings: settingsSchema(),
    },
  };
}
