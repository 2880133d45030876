import type { JsonRecord } from "../../base/json.ts";
import { isMutating } from "./checks.ts";
import type { Definition } from "./definitions/definition.ts";
import { commands } from "./definitions/registry.ts";
import { envelopeSchema } from "./envelope.ts";

/** The JSON Schema of one command or, without a name, of all of them; undefined if the command is unknown. */
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
  const needsArgs = Array.isArray(args.json.required);
  const { properties, required, ...rest } = envelopeSchema.json;
  return {
    ...rest,
    description: sentence,
    properties: { ...Object(properties), name: { const: name }, args: args.json },
    required: [
      ...(Array.isArray(required) ? required : []),
      ...(needsArgs ? ["args"] : []),
      ...(isMutating(definition) ? ["reason"] : []),
    ],
  };
}
