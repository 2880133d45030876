import { join } from "node:path";
import { isRecord, type JsonRecord } from "../base/json.ts";
import { isMutating } from "../commands/checks.ts";
import { commands } from "../commands/registry.ts";
import { giveCommand, SocketError } from "../local/control-client.ts";
import { exit } from "./exit-codes.ts";
import type { Args, Io } from "./io.ts";
import { runFolder } from "./load-config.ts";

export interface Order {
  readonly name: string;
  readonly args: JsonRecord;
}

/** Gives a command to the agent on this board, tells how it goes, and answers with the exit code. */
export async function give(
  io: Io,
  { flags, values }: Pick<Args, "flags" | "values">,
  { name, args }: Order,
  show: (result: JsonRecord) => string = asJson,
): Promise<number> {
  const reason = values.get("reason");
  const definition = commands.get(name);
  if (reason === undefined && definition && isMutating(definition)) {
    io.stderr.write(`siteward: ${name} changes something: say why, for the log and the status: --reason TEXT\n`);
    return exit.usage;
  }
  const envelope = {
    // Who uses sudo is root to the agent, and named by sudo's own log.
    ...{ v: 1, id: io.random.uuid(), name, args, by: `local:${process.getuid?.() ?? 0}` },
    ...(reason !== undefined && { reason }),
    ...(flags.has("dry-run") && { dryRun: true }),
  };
  let last: JsonRecord | undefined;
  try {
    await giveCommand(values.get("socket") ?? join(runFolder(io), "ctl.sock"), {
      envelope,
      signal: io.signal,
      told: (answer) => {
        last = answer;
        if (flags.has("json")) io.stdout.write(`${JSON.stringify(answer)}\n`);
        else tell(io, answer, show);
      },
    });
  } catch (error) {
    if (io.signal.aborted) {
      const cancel = `cmd cmd.cancel '{"id":"${envelope.id}"}' --reason TEXT`;
      io.stderr.write(`siteward: not waited for any longer; it goes on, unless: ${cancel}\n`);
      return exit.failed;
    }
    if (!(error instanceof SocketError)) throw error;
    io.stderr.write(`siteward: ${error.message}\n  ${error.hint}\n`);
    return error.isForbidden ? exit.permission : exit.unavailable;
  }
  return codeOf(io, last);
}

function codeOf(io: Io, last: JsonRecord | undefined): number {
  if (last?.state === "succeeded") return exit.ok;
  if (last?.state !== "accepted" && last?.state !== "running") return exit.failed;
  io.stderr.write("siteward: the agent ended before the command did; the next process takes it up (siteward status)\n");
  return last.name === "agent.restart" ? exit.ok : exit.failed;
}

/** Results go to standard output; how the command is going, and why not, is for the person. */
function tell({ stdout, stderr }: Io, answer: JsonRecord, show: (result: JsonRecord) => string): void {
  const { state, message, field, result, tookMs } = answer;
  const isEnd = state !== "accepted" && state !== "running";
  if (state === "succeeded") stderr.write(`succeeded${tookMs === undefined ? "" : ` after ${tookMs} ms`}\n`);
  else if (isEnd) stderr.write(`siteward: ${state}: ${message ?? ""}${field === undefined ? "" : ` (${field})`}\n`);
  else stderr.write(`${state}${result === undefined ? "" : ` ${JSON.stringify(result)}`}\n`);
  if (!isEnd || !isRecord(result)) return;
  stdout.write(`${state === "succeeded" ? show(result) : asJson(result)}\n`);
}

const asJson = (result: JsonRecord): string => JSON.stringify(result, undefined, 2);
