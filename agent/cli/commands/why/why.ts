import { sentenceOf } from "../../../base/errors.ts";
import { exit } from "../../../base/exit-codes.ts";
import type { Args, Io, Run } from "../../../base/io.ts";
import { counted } from "../../../base/text/counted.ts";
import { countedHeld } from "../../../base/text/held-count.ts";
import { listed } from "../../../base/text/listed.ts";
import { jsonText } from "../../../base/text/terminal-text.ts";
import { wrap } from "../../../base/text/wrap.ts";
import { writeNew } from "../../../config/durable-file.ts";
import { type DecisionRecord, type HeldGroup, subjectText } from "../../../decisions/decision-record.ts";
import { type Incident, incidentsOf } from "../../../decisions/incidents.ts";
import { doneText, headlineOf, restraintText } from "../../../decisions/sentences.ts";
import { reportWidth } from "../../../doctor/report.ts";
import { caseOf } from "../../../judgement/recorded-case.ts";
import { configOf } from "../../../process/load-config.ts";
import { findStatus, thisMachine } from "../status/status-reader.ts";
import { CachedState, nodeText, podText } from "./cached-state.ts";
import { type Known, recordsOf, statusFileFor } from "./decision-source.ts";
import { endOf, type KnownLeader, knownLeaderOf, leads, pointerOf } from "./known-leader.ts";
import { Times } from "./times.ts";

/** Maximum number of records in one answer, which is also the agent's limit. */
const maxRecords = 50;

/** Of a Kubernetes object. */
const longestName = 253;

/** Everything that an answer is made of. */
interface Answer {
  readonly known: Known;
  readonly leading: KnownLeader;
  readonly cached: CachedState;
  readonly times: Times;
}

/**
 * `siteward why`: explains this board's records of harmful acts, from the agent or, if none runs, from state.db. The
 * leader is read from the status file, and the present state of a board or pod from the agent's cache.
 */
export const run: Run = async (io, args) => {
  const [word = ""] = args.words;
  const isLast = word === "last";
  if (!isLast && !/^(node\/[^/\s]+|pod\/[^/\s]+\/[^/\s]+)$/.test(word)) {
    io.stderr.line("siteward: why: name node/NAME, pod/NAMESPACE/NAME or last");
    return exit.usage;
  }
  if (word.split("/").some(({ length }) => length > longestName)) {
    io.stderr.line(`siteward: why: a name has at most ${longestName} characters`);
    return exit.usage;
  }
  const all = await recordsOf(io, args, isLast ? { most: maxRecords } : { about: word, most: maxRecords });
  if (typeof all === "number") return all;
  const newest = isLast ? newestAct(all, args) : undefined;
  const about = newest ? subjectText(newest.on) : isLast ? undefined : word;
  const known = isLast && about !== undefined ? await recordsOf(io, args, { about, most: maxRecords }) : all;
  if (typeof known === "number") return known;
  const answer = answerFrom(io, args, { ...known, held: all.held });
  const isShown = known.records.length > 0 || (isLast && (all.held?.length ?? 0) > 0);
  if (!isShown || (known.records.length === 0 && args.values.has("export"))) return none(io, about, answer);
  const file = args.values.get("export");
  if (file !== undefined) return exportTo(io, file, newestOf(known.records.filter(isDecided), about));
  // The records of a board already include how it was marked and tainted.
  const shown = about?.startsWith("pod/") ? await withBoard(io, args, answer) : answer;
  if (typeof shown === "number") return shown;
  if (args.flags.has("json")) {
    const { isAnswered: _, isCut, held, ...rest } = shown.known;
    io.stdout.json({ ...rest, ...(isCut && { isCut }), ...(isLast && held && { held }) }, 2);
  } else print(io, about, shown, isLast);
  return exit.ok;
};

/**
 * The record that `last` is about. If acts are held now, which are listed separately, it is the newest act that was
 * done or failed; otherwise, and for an export, it is the newest record. What would have been done in shadow mode never
 * counts.
 */
function newestAct({ records: all, held = [] }: Known, { values }: Args): DecisionRecord | undefined {
  const records = all.filter(({ shadow }) => !shadow);
  if (held.length === 0 || values.has("export")) return records.at(-1);
  return records.findLast(({ state }) => state === "done" || state === "failed");
}

function answerFrom(io: Io, { values }: Args, known: Known): Answer {
  const found = findStatus(statusFileFor(io, values), thisMachine());
  const leading = knownLeaderOf(known.board, found, known.isAnswered ? known : undefined);
  const { config } = configOf(io, values.get("config"));
  const cached = new CachedState(config.state.folder, leading.isRunning ? leading.status : undefined);
  return { known, leading, cached, times: new Times(io.clock.now()) };
}

/** Reports that there is no record. */
function none(io: Io, about: string | undefined, answer: Answer): number {
  const { known, leading, times } = answer;
  const { stderr } = io;
  const { leader } = leading.status ?? {};
  const [now] = about === undefined ? [] : nowLines(about, answer);
  if (now?.isAbsent) {
    stderr.line(`siteward: this site has ${now.text}, and ${known.board} has no record of one`);
    if (now.isNode) return exit.failed;
  } else if (leads(leading)) {
    const since = leader?.since === undefined ? "" : ` (${times.status(leader.since)})`;
    const what =
      about === undefined ? "no harmful act was done or withheld" : `no harmful act on ${about} was done or withheld`;
    stderr.line(`siteward: ${what} since this board, ${known.board}, began to lead${since}`);
    if (now) stderr.line(`  now: ${about}: ${now.text}`);
  } else {
    stderr.line(`siteward: this board, ${known.board}, has no record${about === undefined ? "" : ` of ${about}`}`);
    stderr.line("  Run this on the board that led at the time; each board keeps only its own newest records.");
  }
  if (leads(leading)) {
    const previous = leader?.previous;
    if (previous !== undefined && previous !== known.board)
      stderr.line(`  ${previous} led before: what it did and held back is recorded there.`);
    else stderr.line("  What another board did when it led is recorded on that board.");
  }
  const pointer = pointerOf(leading);
  if (pointer !== undefined) for (const line of wrap(pointer, reportWidth(io.stdout) - 2)) stderr.line(`  ${line}`);
  stderr.line("  Drains and cordons by operators have no record. A board logs its drained pods:");
  stderr.line(`  journalctl -u siteward -g "pod evicted by a drain"`);
  return exit.failed;
}

interface NowLine {
  readonly text: string;
  readonly isAbsent: boolean;
  readonly isNode: boolean;
}

/** The present state of the object, and of a pod's board, as far as the agent's cache shows it. */
function nowLines(
  about: string,
  { cached, known }: Pick<Answer, "cached" | "known">,
): readonly (NowLine & { readonly subject: string })[] {
  const [kind, ...names] = about.split("/");
  if (kind === "node") {
    const found = cached.node(names[0] ?? "");
    if (found.kind === "unknown") return [];
    const isAbsent = found.kind === "absent";
    return [
      { subject: about, isNode: true, isAbsent, text: isAbsent ? `no Node ${names[0]}` : nodeText(found.object) },
    ];
  }
  const key = names.join("/");
  const found = cached.pod(key);
  const board = known.records.at(-1)?.board;
  const ofBoard = board === undefined ? [] : nowLines(`node/${board}`, { cached, known });
  if (found.kind === "unknown") return ofBoard;
  const isAbsent = found.kind === "absent";
  const text = isAbsent ? `no Pod ${key}` : podText(found.object);
  return [{ subject: about, isNode: false, isAbsent, text }, ...ofBoard];
}

/** Whether this agent decided about the act; another program did those that were only seen in shadow mode. */
const isDecided = ({ because }: DecisionRecord): boolean => because.kind !== "seen";

/** The newest record of the requested object; otherwise the newest one of the board's pods. */
const newestOf = (records: readonly DecisionRecord[], asked: string | undefined): DecisionRecord | undefined =>
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

/** Puts the records of how the pod's board was marked and tainted before the pod's own records. */
async function withBoard(io: Io, args: Args, answer: Answer): Promise<Answer | number> {
  const { known, times } = answer;
  const newest = known.records.at(-1);
  if (newest === undefined || newest.on.kind !== "Pod") return answer;
  const found = await recordsOf(io, args, { about: `node/${newest.board}`, most: maxRecords });
  if (typeof found === "number") return found;
  const { when } = times;
  const before = found.records.filter(({ on, first }) => on.kind === "Node" && !(when(first) > when(newest.last)));
  const context = ["board-marked", "board-tainted"].flatMap((act) => before.findLast((one) => one.act === act) ?? []);
  return { ...answer, known: { ...known, records: [...context, ...known.records] } };
}

function print(io: Io, about: string | undefined, answer: Answer, isLast: boolean): void {
  const { known, leading, times } = answer;
  const { records, held } = known;
  const width = reportWidth(io.stdout);
  const paragraph = (text: string): void => {
    for (const line of wrap(text, width)) io.stdout.line(line);
  };
  const newest = newestOf(records, about);
  if (newest) {
    const newer = records.slice(records.indexOf(newest) + 1);
    paragraph(headlineOf(newest, times.moment, endOf(newest, leading, newer)));
    io.stdout.line("");
    printIncidents(io, incidentsOf(records, times.when), nowOf(about, answer), times);
    if (known.isCut) paragraph(`Only the newest ${records.length} records are shown.`);
  }
  if (isLast && leads(leading)) printHeld(io, held ?? [], times);
  const pointer = pointerOf(leading);
  if (pointer === undefined) return;
  io.stdout.line("");
  paragraph(pointer);
}

const nowOf = (about: string | undefined, answer: Answer): readonly string[] =>
  about === undefined
    ? []
    : nowLines(about, answer).map(({ subject, text, isAbsent }) =>
        isAbsent ? `there is ${text}` : `${subject}: ${text}`,
      );

function printIncidents(io: Io, incidents: readonly Incident[], now: readonly string[], times: Times): void {
  const width = reportWidth(io.stdout);
  const shown = incidents.map(({ lines, returned }) => ({
    returned,
    rows: lines.map(({ at, text }) => [times.moment(at), text] as const),
  }));
  const present = now.map((text) => ["now", text] as const);
  const wide = Math.max(...[...shown.flatMap(({ rows }) => rows), ...present].map(([time]) => time.length));
  const printRow = ([time, text]: readonly [string, string]): void =>
    wrap(text, width - wide - 4).forEach((part, index) => {
      io.stdout.line(`  ${(index === 0 ? time : "").padEnd(wide)}  ${part}`);
    });
  shown.forEach(({ rows, returned }, index) => {
    const back = returned === undefined ? "" : returnedText(returned);
    if (shown.length > 1)
      for (const line of wrap(`Incident ${index + 1} of ${shown.length}${back}:`, width)) io.stdout.line(line);
    for (const row of rows) printRow(row);
    if (index < shown.length - 1) io.stdout.line("");
  });
  for (const row of present) printRow(row);
}

const returnedText = ({ board, isHeard }: NonNullable<Incident["returned"]>): string =>
  isHeard
    ? `, after ${board} had been Ready again`
    : `, after Node ${board} had been Ready again without a heartbeat to this leader: it returned under another leader, or the API server was restored to a state from before`;

/** The acts that are held back now, by board and reason. */
function printHeld(io: Io, held: readonly HeldGroup[], times: Times): void {
  const width = reportWidth(io.stdout);
  io.stdout.line("");
  if (held.length === 0) {
    io.stdout.line("Nothing is held back now.");
    return;
  }
  const total = held.reduce((sum, { count }) => sum + count, 0);
  const boards = new Set(held.map(({ board }) => board)).size;
  io.stdout.line(`Held back now: ${countedHeld(total, "act")} on ${counted(boards, "board")}:`);
  for (const { board, act, restraint, since, count, some } of held) {
    const named = listed(some, count);
    const what = act.startsWith("board-")
      ? `${named}, due to be ${doneText({ act, board })}`
      : `${countedHeld(count, "pod")} due to be ${doneText({ act, board })} (${named})`;
    const text = `${board}: ${what}; held since ${times.moment(since)}: ${restraintText(restraint)}`;
    for (const [index, part] of wrap(text, width - 4).entries())
      io.stdout.line(`${index === 0 ? "  " : "    "}${part}`);
  }
}
