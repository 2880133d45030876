import { exit } from "../../base/exit-codes.ts";
import type { Args, Io } from "../../base/io.ts";
import { asRecord, isRecord, type JsonRecord } from "../../base/json.ts";
import { jsonText } from "../../base/text/terminal-text.ts";
import { isMutating } from "../../commands/desk/checks.ts";
import { commands } from "../../commands/desk/definitions/registry.ts";
import { giveCommand, SocketError } from "../../commands/operator-api/control-client.ts";
import { localEnvelope, type Order, reportSocketError, socketOf } from "./own-agent.ts";

/** Sends a command to the agent on this board, prints its progress, and returns the exit code. */
export async function give(
  io: Io,
  { flags, values }: Pick<Args, "flags" | "values">,
  order: Order,
  show: (result: JsonRecord) => string = asJson,
): Promise<number> {
  const { name } = order;
  const reason = values.get("reason");
  const definition = commands.get(name);
  if (reason === undefined && definition && isMutating(definition)) {
    io.stderr.line(`siteward: ${name} changes something: give a reason for log and status: --reason TEXT`);
    return exit.usage;
  }
  const envelope = {
    ...localEnvelope(io, order),
    ...(reason !== undefined && { reason }),
    ...(flags.has("dry-run") && { dryRun: true }),
  };
  let last: JsonRecord | undefined;
  try {
    await giveCommand(socketOf(io, values), {
      envelope,
      signal: io.signal,
      onAnswer: (answer) => {
        last = answer;
        if (flags.has("json")) io.stdout.json(answer);
        else print(io, answer, { show, isDryRun: flags.has("dry-run") });
      },
    });
  } catch (error) {
    if (io.signal.aborted) {
      const cancel = `. To cancel it: siteward cmd cmd.cancel '{"id":"${envelope.id}"}' --reason TEXT`;
      const how = definition?.isCancellable ? cancel : "";
      io.stderr.line(`siteward: stopped waiting; the command continues${how}`);
      return exit.failed;
    }
    if (!(error instanceof SocketError)) throw error;
    return reportSocketError(io, error);
  }
  return codeOf(io, last);
}

function codeOf(io: Io, last: JsonRecord | undefined): number {
  if (last?.state === "succeeded") return exit.ok;
  if (last?.state !== "accepted" && last?.state !== "running") return exit.failed;
  io.stderr.line(
    "siteward: the agent ended before the command did; after a restart, siteward status shows its outcome",
  );
  return last.name === "agent.restart" ? exit.ok : exit.failed;
}

/** Prints results to standard output, progress and errors to standard error. */
function print(
  { stdout, stderr }: Io,
  answer: JsonRecord,
  { show, isDryRun }: { readonly show: (result: JsonRecord) => string; readonly isDryRun: boolean },
): void {
  const { state, message, field, result, tookMs, error } = answer;
  const isEnd = state !== "accepted" && state !== "running";
  if (state === "succeeded" && isDryRun) stderr.line("dry run: nothing was changed");
  else if (state === "succeeded") stderr.line(`succeeded${tookMs === undefined ? "" : ` after ${tookMs} ms`}`);
  else if (isEnd) stderr.line(`siteward: ${state}: ${message ?? ""}${field === undefined ? "" : ` (${field})`}`);
  else stderr.line(`${state}${result === undefined ? "" : ` ${jsonText(result)}`}`);
  if (error === "shadow") stderr.line(`  ${inShadow}`);
  if (error === "not-leader") stderr.line(`  ${whereToRun(asRecord(result).leader)}`);
  if (!isEnd || !isRecord(result)) return;
  stdout.write(`${state === "succeeded" ? show(result) : asJson(result)}\n`);
}

/** The next step after a site command was given to a board that does not lead. `leader`: the one that does, if known. */
const whereToRun = (leader: unknown): string =>
  typeof leader === "string"
    ? `${leader} leads: run it there.`
    : "This board knows of no leader, but without the API it would not hear of a new one. Run it on the board that leads, which siteward status names on any board that reaches the API.";

const asJson = (result: JsonRecord): string => jsonText(result, 2);

const inShadow =
  "Order it where the work is done: kubectl taint nodes NODE node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, or set the mode to act first (docs/operator.md).";
