import { exit } from "../../base/exit-codes.ts";
import type { Args, Io, Run } from "../../base/io.ts";
import { counted } from "../../base/text/counted.ts";
import { wrap } from "../../base/text/wrap.ts";
import { formatDuration, longestTime, parseTimeFromNow } from "../../base/time/duration.ts";
import { decisionBound } from "../../decisions/decision-book.ts";
import type { DecisionRecord } from "../../decisions/decision-record.ts";
import {
  type ComparedAct,
  type Comparison,
  comparedText,
  compareShadow,
  differences,
  unrecordedIn,
} from "../../decisions/shadow-report.ts";
import { reportWidth } from "../../doctor/report.ts";
import { recordsOf } from "./why/decision-source.ts";
import { Times } from "./why/times.ts";

/** Records in one answer of the agent, which is its limit. */
const page = 50;
/** More records than a board keeps. */
const most = 1000;
/** How often all records are read at most, while more come. */
const passes = 5;
const defaultSince = "24h";

/**
 * `siteward shadow report`: what controllers in shadow mode would have done, next to what other programs did, from this
 * board's records.
 */
export const report: Run = async (io, args) => {
  const since = args.values.get("since") ?? defaultSince;
  const span = parseTimeFromNow(since);
  if (span === "too long") {
    io.stderr.line(`siteward: shadow report: --since takes at most ${longestTime}, not ${since}`);
    return exit.usage;
  }
  if (span === undefined || !(span > 0)) {
    io.stderr.line(`siteward: shadow report: --since ${since} is not a duration such as 24h`);
    return exit.usage;
  }
  const found = new Map<string, DecisionRecord>();
  let board = "";
  // A record that changes while the others are read becomes the newest, and so may have been missed: read again until
  // nothing new is found.
  for (let pass = 0, known = -1; pass < passes && found.size > known; pass++) {
    known = found.size;
    const read = await readAll(io, args, found);
    if (typeof read === "number") return read;
    board = read.board;
  }
  const times = new Times(io.clock.now());
  const from = io.clock.now().wall - span;
  const isRecent = ({ last }: DecisionRecord): boolean => !(times.when(last) < from);
  const recent = [...found.values()].filter(isRecent);
  const compared = compareShadow(recent, times.when);
  const isFull = areFull([...found.values()]);
  const unrecorded = unrecordedIn(recent);
  if (args.flags.has("json"))
    io.stdout.json({ board, since, acts: compared, unrecorded, ...(isFull && { isFull }) }, 2);
  else print(io, compared, { board, since, times, unrecorded, isFull });
  return exit.ok;
};

/** Reads all records page by page, the newest first. Returns an exit code if there is no answer. */
async function readAll(
  io: Io,
  args: Args,
  found: Map<string, DecisionRecord>,
): Promise<{ readonly board: string } | number> {
  for (let skip = 0; ; ) {
    const known = await recordsOf(io, args, { most: page, compared: true, ...(skip > 0 && { skip }) });
    if (typeof known === "number") return known;
    const { board, records } = known;
    for (const record of records) {
      const { act, by, term, on, first } = record;
      found.set(`${act} ${by} ${term} ${on.uid} ${first.at}`, record);
    }
    skip += records.length;
    if (records.length === 0 || skip >= most) return { board };
  }
}

function print(
  io: Io,
  compared: readonly ComparedAct[],
  {
    board,
    since,
    times,
    unrecorded,
    isFull,
  }: {
    readonly board: string;
    readonly since: string;
    readonly times: Times;
    readonly unrecorded: number;
    readonly isFull: boolean;
  },
): void {
  const { stdout } = io;
  const width = reportWidth(stdout);
  const full = `The board has no room for more records, and deletes old ones; those of acts stay longest. An act that only one side seems to have done may be among the deleted ones.`;
  const noteFull = (): void => {
    if (isFull) for (const line of wrap(full, width)) stdout.line(line);
  };
  if (compared.length === 0) {
    stdout.line(`${board} has no record of the last ${since} of a controller in shadow mode or of a compared policy.`);
    noteFull();
    return;
  }
  const different = compared.filter(({ comparison }) => differences.includes(comparison)).length;
  stdout.line(
    `${counted(compared.length, "act")} in the last ${since}, ${counted(different, "difference")}, as recorded by ${board}`,
  );
  noteFull();
  if (unrecorded > 0) {
    const text = `${counted(unrecorded, "record")} of the same terms could not be kept, because there were too many at once: an act that only one side seems to have done may be among them`;
    for (const line of wrap(text, width)) stdout.line(line);
  }
  let last: Comparison | undefined;
  for (const act of compared) {
    if (act.comparison !== last) {
      stdout.line("");
      stdout.line(`${(act.policy ? policyTitles : titles)[act.comparison]}:`);
      last = act.comparison;
    }
    const text = `${comparedText(act)}: ${detailOf(act, times)}`;
    for (const [index, line] of wrap(text, width - 4).entries()) stdout.line(`${index === 0 ? "  " : "    "}${line}`);
  }
}

/** Whether the board's records are about to fill the room for them, so that older ones may have been deleted. */
function areFull(records: readonly DecisionRecord[]): boolean {
  const bytes = records.reduce((sum, record) => sum + Buffer.byteLength(JSON.stringify(record)), 0);
  return bytes > nearlyFull * decisionBound.bytes || records.length > nearlyFull * decisionBound.rows;
}

const nearlyFull = 0.95;

const titles: Readonly<Record<Comparison, string>> = {
  "held here": "Done by others, and held back by siteward",
  "others only": "Done by others, without a decision of siteward",
  "never done": "Siteward would have done it, and nobody did",
  "would fail": "Siteward would have tried it in vain",
  both: "Done by others, and siteward would have done it",
  neither: "Held back by siteward, and done by nobody",
};

/** The same for policy `kubernetes` beside the acting policy. */
const policyTitles: typeof titles = {
  "held here": "Done, and held back under policy kubernetes",
  "others only": "Done, without a decision under policy kubernetes",
  "never done": "Policy kubernetes would have done it, and it was not done",
  "would fail": "Policy kubernetes would have tried it in vain",
  both: "Done, as under policy kubernetes",
  neither: "Held back under policy kubernetes, and not done",
};

function detailOf({ would, real, late, laterMs, verdict, heldBecause, policy }: ComparedAct, times: Times): string {
  const decided = would && `${would.state === "done" ? "would have been done" : would.state} ${times.moment(would.at)}`;
  const why = would?.why === undefined ? undefined : `(${would.why})`;
  const here = policy ? `it would have been under policy ${policy}` : "here";
  const shift =
    laterMs === undefined
      ? ""
      : `, ${formatDuration(Math.abs(laterMs))} ${laterMs < 0 ? "earlier" : "later"} than ${here}`;
  const done = real && `really done ${times.moment(real)}${late ? " or earlier" : ""}${shift}`;
  const whose = policy ? `under policy ${policy} the verdict` : "siteward's verdict";
  const known = verdict === undefined ? undefined : `${whose} on the board was ${verdict}`;
  const held = heldBecause === undefined ? undefined : `siteward held it back: ${heldBecause}`;
  return [[decided, why].filter(Boolean).join(" "), done, known, held].filter(Boolean).join("; ");
}
