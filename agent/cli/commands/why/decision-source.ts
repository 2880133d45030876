import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { storedDecisions } from "../../../../storage/database/inspection.ts";
import { exit } from "../../../base/exit-codes.ts";
import type { Args, Io } from "../../../base/io.ts";
import { asRecord, type JsonRecord, recordIn } from "../../../base/json.ts";
import { giveCommand, SocketError } from "../../../commands/operator-api/control-client.ts";
import {
  type DecisionRecord,
  type HeldGroup,
  readDecision,
  readHeldGroup,
} from "../../../decisions/decision-record.ts";
import { configOf } from "../../../process/load-config.ts";
import { localEnvelope, reportSocketError, socketOf } from "../own-agent.ts";

/** The decision records of this board, and the facts that go with them. */
export interface Known {
  readonly board: string;
  /** Whether an agent answered; otherwise the records were read from state.db. */
  readonly isAnswered: boolean;
  /** The board that leads now; undefined if unknown. */
  readonly leader: string | undefined;
  /** Oldest first. */
  readonly records: readonly DecisionRecord[];
  /** Whether there may be older records. */
  readonly isCut: boolean;
  /** The acts that are held back now; undefined unless this board leads. */
  readonly held: readonly HeldGroup[] | undefined;
}

/** The socket of the agent that runs with the named configuration file; without one, that of the service. */
function socketFor(io: Io, values: Args["values"]): string {
  const file = values.get("config");
  if (file === undefined || values.has("socket")) return socketOf(io, values);
  return join(configOf(io, file).config.run.folder, "ctl.sock");
}

/** The status file of the same agent. */
export const statusFileFor = (io: Io, values: Args["values"]): string =>
  join(dirname(socketFor(io, values)), "status.json");

/** Asks the agent or, if none runs, reads state.db. Returns an exit code if neither has an answer. */
export async function recordsOf(io: Io, { values }: Args, asked: JsonRecord): Promise<Known | number> {
  let last: JsonRecord = {};
  try {
    await giveCommand(socketFor(io, values), {
      envelope: localEnvelope(io, { name: "decisions.get", args: asked }),
      signal: io.signal,
      onAnswer: (answer) => {
        last = answer;
      },
    });
  } catch (error) {
    if (!(error instanceof SocketError)) throw error;
    return error.isForbidden ? reportSocketError(io, error) : fromFile(io, values.get("config"), asked, error);
  }
  if (last.state !== "succeeded") {
    io.stderr.line(`siteward: why: ${last.message ?? "the agent ended before it answered"}`);
    return exit.failed;
  }
  const { board, leader, records, held, isCut } = asRecord(last.result);
  const found = Array.isArray(records) ? records : [];
  return {
    board: String(board),
    isAnswered: true,
    leader: typeof leader === "string" ? leader : undefined,
    records: found.flatMap((one) => readDecision(one) ?? []),
    isCut: isCut === true || found.length >= Number(asked.most),
    held: Array.isArray(held) ? held.flatMap((one) => readHeldGroup(one) ?? []) : undefined,
  };
}

function fromFile(
  io: Io,
  file: string | undefined,
  { about, most, skip = 0, compared }: JsonRecord,
  error: SocketError,
): Known | number {
  const { config } = configOf(io, file);
  const subject = typeof about === "string" ? about : undefined;
  const state = join(config.state.folder, "state.db");
  // Checked here, so that a missing permission is not reported as a damaged database.
  if (existsSync(config.state.folder)) accessSync(config.state.folder, constants.R_OK | constants.X_OK);
  const found = storedDecisions(state, subject, Number(most), { skip: Number(skip), compared: compared === true });
  const of = { board: config.board.name, isAnswered: false, leader: undefined, held: undefined };
  const none = { ...of, records: [], isCut: false };
  if (!("kind" in found)) {
    const records = found.flatMap((text) => readDecision(recordIn(text)) ?? []);
    return { ...none, records, isCut: found.length >= Number(most) };
  }
  if (found.kind === "absent") return none;
  if (found.kind === "busy") return reportSocketError(io, error);
  io.stderr.line(`siteward: why: ${state}: ${found.why}`);
  return exit.failed;
}
