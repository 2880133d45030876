import { join } from "node:path";
import { isRecord, type JsonRecord } from "../base/json.ts";
import { nearest } from "../base/nearest.ts";
import { publishedSchema } from "../commands/published-schema.ts";
import { commands } from "../commands/registry.ts";
import { giveCommand, SocketError } from "../local/control-client.ts";
import { exit } from "./exit-codes.ts";
import type { Io, Run } from "./io.ts";
import { runFolder } from "./load-config.ts";

/** `siteward cmd NAME [JSON]`: a command for the agent on this board, over its socket. */
export const run: Run = async (io, { flags, values, words }) => {
  const [name, json] = words;
  if (flags.has("schema")) return printSchema(io, name);
  if (name === undefined) return usage(io, `cmd needs NAME, one of ${[...commands.keys()].join(", ")}`);
  if (!commands.has(name)) return usage(io, unknown(name));
  const args = json === undefined ? {} : parsed(json);
  if (!isRecord(args)) return usage(io, `cmd: ${JSON.stringify(json)} is not a JSON object, such as '{"ttl":600}'`);
  const reason = values.get("reason");
  const envelope = {
    ...{ v: 1, id: io.random.uuid(), name, args, by: `local:${process.getuid?.() ?? 0}` },
    ...(reason !== undefined && { reason }),
    ...(flags.has("dry-run") && { dryRun: true }),
  };
  const file = values.get("socket") ?? join(runFolder(io), "ctl.sock");
  let last: JsonRecord | undefined;
  try {
    await giveCommand(file, {
      envelope,
      signal: io.signal,
      told: (answer) => {
        last = answer;
        if (flags.has("json")) io.stdout.write(`${JSON.stringify(answer)}\n`);
        else tell(io, answer);
      },
    });
  } catch (error) {
    if (io.signal.aborted) {
      io.stderr.write(
        `siteward: not waited for any longer; it goes on, unless: cmd cmd.cancel '{"id":"${envelope.id}"}'\n`,
      );
      return exit.failed;
    }
    if (!(error instanceof SocketError)) throw error;
    io.stderr.write(`siteward: ${error.message}\n  ${error.hint}\n`);
    return error.isForbidden ? exit.permission : exit.unavailable;
  }
  return codeOf(io, last);
};

function codeOf(io: Io, last: JsonRecord | undefined): number {
  if (last?.state === "succeeded") return exit.ok;
  if (last?.state !== "accepted" && last?.state !== "running") return exit.failed;
  io.stderr.write("siteward: the agent ended before the command did; the next process takes it up (siteward status)\n");
  return last.name === "agent.restart" ? exit.ok : exit.failed;
}

/** Results go to standard output; how the command is going, and why not, is for the person. */
function tell({ stdout, stderr }: Io, answer: JsonRecord): void {
  const { state, message, field, result, tookMs } = answer;
  const isEnd = state !== "accepted" && state !== "running";
  if (state === "succeeded") stderr.write(`succeeded${tookMs === undefined ? "" : ` after ${tookMs} ms`}\n`);
  else if (isEnd) stderr.write(`siteward: ${state}: ${message ?? ""}${field === undefined ? "" : ` (${field})`}\n`);
  else stderr.write(`${state}${result === undefined ? "" : ` ${JSON.stringify(result)}`}\n`);
  if (isEnd && result !== undefined) stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
}

function printSchema(io: Io, name: string | undefined): number {
  const schema = publishedSchema(name);
  if (!schema) return usage(io, unknown(name ?? ""));
  io.stdout.write(`${JSON.stringify(schema, undefined, 2)}\n`);
  return exit.ok;
}

function usage({ stderr }: Io, problem: string): number {
  stderr.write(`siteward: ${problem}\n`);
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
