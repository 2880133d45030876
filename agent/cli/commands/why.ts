import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { storedDecisions } from "../../../storage/database/inspection.ts";
import type { Instant, Millis } from "../../base/clock.ts";
import { sentenceOf } from "../../base/errors.ts";
import { exit } from "../../base/exit-codes.ts";
import type { Args, Io, Run } from "../../base/io.ts";
import { asRecord, type JsonRecord, recordIn } from "../../base/json.ts";
import { jsonText } from "../../base/text/terminal-text.ts";
import { wrap } from "../../base/text/wrap.ts";
import { giveCommand, SocketError } from "../../commands/operator-api/control-client.ts";
import { writeNew } from "../../config/durable-file.ts";
import { type DecisionRecord, readDecision, type StoredMoment, subjectText } from "../../decisions/decision-record.ts";
import { headlineOf, linesOf, type ShowTime } from "../../decisions/sentences.ts";
import { reportWidth } from "../../doctor/report.ts";
import { caseOf } from "../../judgement/recorded-case.ts";
import { configOf } from "../../process/load-config.ts";
import { localEnvelope, reportSocketError, socketOf } from "./own-agent.ts";
import { thisMachine } from "./status/status-reader.ts";

/** The records of this board about one object, oldest first. */
interface Known {
  readonly board: string;
  /** The board that leads now; undefined if unknown. */
  readonly leader: string | undefined;
  readonly records: readonly DecisionRecord[];
}

/** Maximum number of records in one answer. */
const most = 20;

/** `siteward why`: shows this board's records of harmful acts, from the agent or, if none runs, from state.db. */
export const run: Run = async (io, args) => {
  const [word = ""] = args.words;
  const asked = word === "last" ? await newestSubject(io, args) : word;
  if (typeof asked === "number") return asked;
  if (!/^(node\/[^/\s]+|pod\/[^/\s]+\/[^/\s]+)$/.test(asked)) {
    io.stderr.line("siteward: why: name node/NAME, pod/NAMESPACE/NAME or last");
    return exit.usage;
  }
  const found = await recordsOf(io, args, { about: asked, most });
  if (typeof found === "number") return found;
  if (found.records.length === 0) return none(io, asked, found);
  const file = args.values.get("export");
  if (file !== undefined) return exportTo(io, file, newestOf(found.records, asked));
  // The records of a board already include how it was marked and tainted.
  const shown = asked.startsWith("pod/") ? await withBoard(io, args, found) : found;
  if (typeof shown === "number") return shown;
  if (args.flags.has("json")) io.stdout.json(shown, 2);
  else print(io, asked, shown.records);
  return exit.ok;
};

/** The object of the newest record. */
async function newestSubject(io: Io, args: Args): Promise<string | number> {
  const found = await recordsOf(io, args, { most });
  if (typeof found === "number") return found;
  const newest = found.records.at(-1);
  return newest ? subjectText(newest.on) : none(io, undefined, found);
}

function none(io: Io, about: string | undefined, { board, leader }: Known): number {
  io.stderr.line(`siteward: this board, ${board}, has no record${about === undefined ? "" : ` of ${about}`}`);
  const now = leader === undefined ? "" : `; ${leader} leads now`;
  io.stderr.line(`  Run this on the board that led at the time; it keeps only its newest records${now}.`);
  if (about?.startsWith("pod/")) {
    io.stderr.line("  Pods evicted by an operator's drain are logged on their own board:");
    io.stderr.line(`  journalctl -u siteward -g "pod evicted by a drain"`);
  }
  return exit.failed;
}

/** The newest record of the requested object; otherwise the newest one of the board's pods. */
const newestOf = (records: readonly DecisionRecord[], asked: string): DecisionRecord | undefined =>
  records.findLast(({ on }) => subjectText(on) === asked) ?? records.at(-1);

/** Writes the decision of a record as a case, for `siteward replay`. */
function exportTo(io: Io, file: string, decided: DecisionRecord | undefined): number {
  const id = decided && `${subjectText(decided.on)} ${decided.last.at}`;
  const found = decided && caseOf(decided, { id: id ?? "", note: headlineOf(decided, ({ at }) => at) });
  if (found === undefined) {
    io.stderr.line(
      "siteward: why: the record was written by an earlier version, which did not store all the facts behind its decision",
    );
    return exit.failed;
  }
  try {
    writeNew(file, `${jsonText(found, 2)}\n`, 0o644);
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    io.stderr.line(`siteward: why: ${isThere ? `${file} already exists: choose another name` : sentenceOf(error)}`);
    return exit.failed;
  }
  io.stdout.line(`${file}   ${found.id}; siteward replay ${file} re-evaluates it`);
  return exit.ok;
}

/** Adds, before a pod's records, those of how its board was marked and tainted. */
async function withBoard(io: Io, args: Args, known: Known): Promise<Known | number> {
  const newest = known.records.at(-1);
  if (newest === undefined || newest.on.kind !== "Pod") return known;
  const found = await recordsOf(io, args, { about: `node/${newest.board}`, most: 50 });
  if (typeof found === "number") return found;
  const when = momentFor(io.clock.now());
  const before = found.records.filter(({ on, first }) => on.kind === "Node" && !(when(first) > when(newest.last)));
  const context = ["board-marked", "board-tainted"].flatMap((act) => before.findLast((one) => one.act === act) ?? []);
  return { ...known, records: [...context, ...known.records] };
}

function print(io: Io, asked: string, records: readonly DecisionRecord[]): void {
  const now = io.clock.now();
  const [time, when] = [timeFor(now), momentFor(now)];
  const width = reportWidth(io.stdout);
  const newest = newestOf(records, asked);
  if (newest) for (const line of wrap(headlineOf(newest, time), width)) io.stdout.line(line);
  io.stdout.line("");
  const lines = records.flatMap(linesOf).sort((a, b) => when(a.at) - when(b.at) || 0);
  const wide = Math.max(...lines.map(({ at }) => time(at).length));
  for (const { at, text } of lines) {
    wrap(text, width - wide - 4).forEach((part, index) => {
      io.stdout.line(`  ${(index === 0 ? time(at) : "").padEnd(wide)}  ${part}`);
    });
  }
}

/**
 * The wall time of a moment. For a moment in this boot, it is computed from the moment's age, so it is right even if
 * the clock has been set since. For one in an earlier boot, it is what the clock showed then.
 */
function momentFor(now: Instant): (moment: StoredMoment) => Millis {
  const { bootId } = thisMachine();
  return ({ at, boot, mono }) => (boot === bootId ? now.wall - (now.mono - mono) : Date.parse(at));
}

/** Shows moments in local time. */
function timeFor(now: Instant): ShowTime {
  const when = momentFor(now);
  const today = dateText(new Date(now.wall));
  return (moment: StoredMoment): string => {
    const then = new Date(when(moment));
    if (Number.isNaN(then.getTime())) return "?";
    const clock = [then.getHours(), then.getMinutes(), then.getSeconds()].map(two).join(":");
    const date = dateText(then);
    return date === today ? clock : `${date} ${clock}`;
  };
}

const dateText = (time: Date): string =>
  [String(time.getFullYear()), two(time.getMonth() + 1), two(time.getDate())].join("-");

const two = (value: number): string => String(value).padStart(2, "0");

/** The socket of the agent that runs with the named configuration file; without one, that of the service. */
function socketFor(io: Io, values: Args["values"]): string {
  const file = values.get("config");
  if (file === undefined || values.has("socket")) return socketOf(io, values);
  return join(configOf(io, file).config.run.folder, "ctl.sock");
}

/** Asks the agent or, if none runs, reads state.db. Returns an exit code if neither has an answer. */
async function recordsOf(io: Io, { values }: Args, asked: JsonRecord): Promise<Known | number> {
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
  const { board, leader, records } = asRecord(last.result);
  return {
    board: String(board),
    leader: typeof leader === "string" ? leader : undefined,
    records: (Array.isArray(records) ? records : []).flatMap((one) => readDecision(one) ?? []),
  };
}

function fromFile(io: Io, file: string | undefined, { about, most }: JsonRecord, error: SocketError): Known | number {
  const { config } = configOf(io, file);
  const subject = typeof about === "string" ? about : undefined;
  const state = join(config.state.folder, "state.db");
  // Checked here, so that a missing permission is not reported as a damaged database.
  if (existsSync(config.state.folder)) accessSync(config.state.folder, constants.R_OK | constants.X_OK);
  const found = storedDecisions(state, subject, Number(most));
  if (!("kind" in found)) {
    const records = found.flatMap((text) => readDecision(recordIn(text)) ?? []);
    return { board: config.board.name, leader: undefined, records };
  }
  if (found.kind === "absent") return { board: config.board.name, leader: undefined, records: [] };
  if (found.kind === "busy") return reportSocketError(io, error);
  io.stderr.line(`siteward: why: ${state}: ${found.why}`);
  return exit.failed;
}
