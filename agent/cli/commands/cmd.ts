import { exit } from "../../base/exit-codes.ts";
import type { Io, Run } from "../../base/io.ts";
import { isRecord } from "../../base/json.ts";
import { nearest } from "../../base/text/nearest.ts";
import { commands } from "../../commands/desk/definitions/registry.ts";
import { publishedSchema } from "../../commands/desk/published-schema.ts";
import { orderLines } from "./help/help.ts";
import { give } from "./send-command.ts";

/** `siteward cmd NAME [JSON]`: sends a command to the agent on this board over its socket. */
export const run: Run = async (io, args) => {
  const [name, json] = args.words;
  if (args.flags.has("schema")) return printSchema(io, name);
  if (name === undefined) {
    const code = usage(io, "cmd needs NAME, one of");
    for (const line of orderLines()) io.stderr.line(line);
    return code;
  }
  if (!commands.has(name)) return usage(io, unknown(name));
  const given = json === undefined ? {} : parsed(json);
  if (!isRecord(given)) return usage(io, `cmd: ${JSON.stringify(json)} is not a JSON object, such as '{"ttl":600}'`);
  return await give(io, args, { name, args: given });
};

function printSchema(io: Io, name: string | undefined): number {
  const schema = publishedSchema(name);
  if (!schema) return usage(io, unknown(name ?? ""));
  io.stdout.json(schema, 2);
  return exit.ok;
}

function usage({ stderr }: Io, problem: string): number {
  stderr.line(`siteward: ${problem}`);
  return exit.usage;
}

function unknown(name: string): string {
  const similar = nearest(name, commands.keys());
  return `cmd: there is no command ${JSON.stringify(name)}${similar === undefined ? "" : `; did you mean ${similar}?`}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
