import type { JsonRecord } from "../../base/json.ts";
import { isMutating } from "./checks.ts";
import type { Definition } from "./definition.ts";
import { envelopeShape } from "./envelope.ts";
import { commands } from "./registry.ts";

/** The checks of the desk as JSON Schema, for authors of commands. `undefined`: unknown command. */
export function publishedSchema(name: string | undefined): JsonRecord | undefined {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "A command for siteward" };
  if (name === undefined) {
    return { ...head, oneOf: [...commands.values()].map(envelopeOf) };
  }
  const found = commands.get(name);
  return found && { ...head, ...envelopeOf(found) };
}

function envelopeOf(definition: Definition): JsonRecord {
  const { name, sentence, args } = definition;
  const needsArgs = Array.isArray(args.schema.required);
  const { properties, required, ...rest } = envelopeShape.schema;
  return {
    ...rest,
    description: sentence,
    properties: { ...Object(properties), name: { const: name }, args: args.schema },
    required: [
      ...(Array.isArray(required) ? required : []),
      ...(needsArgs ? ["args"] : []),
      ...(isMutating(definition) ? ["reason"] : []),
    ],
  };
}
