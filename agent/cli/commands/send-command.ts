import { join } from "node:path";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { isRecord, type JsonRecord } from "../../base/json.ts";
import { jsonText } from "../../base/terminal-text.ts";
import { isMutating } from "../../commands/desk/checks.ts";
import { commands } from "../../commands/desk/registry.ts";
import { giveCommand, SocketError } from "../../commands/operator-api/control-client.ts";
import { runFolder } from "../../process/load-config.ts";

export interface Order {
  readonly name: string;
  readonly args: JsonRecord;
}

/** Sends a command to the agent on this board, prints its progress, and returns the exit code. */
export async function give(
  io: Io,
  { flags, values }: Pick<Args, "flags" | "values">,
  { name, args }: Order,
  show: (result: JsonRecord) => string = asJson,
): Promise<number> {
  const reason = values.get("reason");
  const definition = commands.get(name);
  if (reason === undefined && definition && isMutating(definition)) {
    io.stderr.line(`siteward: ${name} changes something: say why, for the log and the status: --reason TEXT`);
    return exit.usage;
  }
  const envelope = {
    // Under sudo the agent sees root; sudo's own log names the user.
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
        if (flags.has("json")) io.stdout.json(answer);
        else tell(io, answer, show);
      },
    });
  } catch (error) {
    if (io.signal.aborted) {
      const cancel = `cmd cmd.cancel '{"id":"${envelope.id}"}' --reason TEXT`;
      io.stderr.line(`siteward: not waited for any longer; it goes on, unless: ${cancel}`);
      return exit.failed;
    }
    if (!(error instanceof SocketError)) throw error;
    io.stderr.line(`siteward: ${error.message}`);
    io.stderr.line(`  ${error.hint}`);
    return error.isForbidden ? exit.permission : exit.unavailable;
  }
  return codeOf(io, last);
}

function codeOf(io: Io, last: JsonRecord | undefined): number {
  if (last?.state === "succeeded") return exit.ok;
  if (last?.state !== "accepted" && last?.state !== "running") return exit.failed;
  io.stderr.line("siteward: the agent ended before the command did; the next process takes it up (siteward status)");
  return last.name === "agent.restart" ? exit.ok : exit.failed;
}

/** Prints results to standard output, progress and errors to standard error. */
function tell({ stdout, stderr }: Io, answer: JsonRecord, show: (result: JsonRecord) => string): void {
  const { state, message, field, result, tookMs } = answer;
  const isEnd = state !== "accepted" && state !== "running";
  if (state === "succeeded") stderr.line(`succeeded${tookMs === undefined ? "" : ` after ${tookMs} ms`}`);
  else if (isEnd) stderr.line(`siteward: ${state}: ${message ?? ""}${field === undefined ? "" : ` (${field})`}`);
  else stderr.line(`${state}${result === undefined ? "" : ` ${jsonText(result)}`}`);
  if (!isEnd || !isRecord(result)) return;
  stdout.write(`${state === "succeeded" ? show(result) : asJson(result)}\n`);
}

const asJson = (result: JsonRecord): string => jsonText(result, 2);
