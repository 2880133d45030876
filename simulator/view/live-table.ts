import {
  cursor,
  lineOf,
  oneLine,
  type TerminalText,
  type Tone,
  withTone,
} from "../../agent/base/text/terminal-text.ts";
import type { BoardPicture, SitePicture, ZonePicture } from "./site-picture.ts";

/** The capabilities of a terminal. */
export interface TerminalTraits {
  readonly columns: number;
  /** The height, needed because a table that is taller than the terminal could not be redrawn in place. */
  readonly rows: number;
  /** False if the terminal may be limited to ASCII. */
  readonly unicode: boolean;
  /** Set if keys are read: their help, and the board on which they act. */
  readonly keys?: { readonly help: string; readonly selected: string | undefined } | undefined;
}

type CellTone = Extract<Tone, "good" | "bad" | "dim"> | "plain";

interface Cell {
  readonly text: string;
  readonly tone: CellTone;
}

interface Column {
  readonly title: string;
  /** The order in which columns are left out on a narrow terminal: those with the highest rank first. */
  readonly rank: number;
  readonly cell: (board: BoardPicture, site: SitePicture, look: TerminalTraits) => Cell;
}

const cell = (text: string, tone: CellTone = "plain"): Cell => ({ text, tone });

const columns: readonly Column[] = [
  { title: "BOARD", rank: 0, cell: nameCell },
  { title: "ZONE", rank: 3, cell: ({ zone }) => cell(zone, "dim") },
  { title: "STATE", rank: 1, cell: stateCell },
  { title: "ROLE", rank: 2, cell: roleCell },
  { title: "PODS", rank: 4, cell: podsCell },
  { title: "QUEUE", rank: 6, cell: ({ report }) => cell(report === undefined ? "-" : String(report.queued), "dim") },
  { title: "RAM", rank: 5, cell: ({ memory }) => cell(memory === undefined ? "-" : megabytes(memory.rss)) },
  {
    title: "ANON",
    rank: 8,
    cell: ({ memory }) => cell(memory === undefined ? "-" : megabytes(memory.anonymous), "dim"),
  },
  { title: "TAINTS", rank: 7, cell: taintsCell },
];

/** A line and its priority: when there is not enough room, the lines with the lowest priority are left out. */
interface Line {
  readonly text: TerminalText;
  readonly worth: number;
}

const worth = { gap: 0, counted: 1, title: 2, leader: 3, heads: 4, board: 5, help: 6, chosen: 7 };

/** The site as lines that fit the terminal. `news`: the last messages, newest at the end. */
export function tableLines(
  title: string,
  site: SitePicture,
  news: readonly string[],
  look: TerminalTraits,
): readonly TerminalText[] {
  const help = helpLines(look);
  const { boards, left } = boardsShown(site, look, help.length);
  const rows = (shown: readonly Column[]): readonly (readonly Cell[])[] => [
    shown.map(({ title }) => cell(title, "dim")),
    ...boards.map((board) => shown.map((column) => column.cell(board, site, look))),
  ];
  const shown = fitting(rows, look.columns);
  const widths = shown.map((_, index) => Math.max(...rows(shown).map((row) => row[index]?.text.length ?? 0)));
  const chosen = chosenBoard(site, look);
  const gap: Line = { text: "", worth: worth.gap };
  const counted = (text: string): Line => ({ text: cut(text, look), worth: worth.counted });
  const lines = worthiest(
    [
      { text: cut(title, look), worth: worth.title },
      gap,
      ...rows(shown).map((row, index) => ({
        text: rowOf(row, widths, look),
        worth: index === 0 ? worth.heads : boards[index - 1] === chosen ? worth.chosen : worth.board,
      })),
      ...(left > 0 ? [counted(`and ${left} more`)] : []),
      gap,
      ...site.zones.map((zone) => counted(zoneLine(zone))),
      ...site.daemons.map((daemon) => counted(daemonLine(daemon))),
      ...site.services.map(({ name, ready }) => counted(`service ${name}: leads to ${podsOf(ready)}`)),
      { text: cut(leaderLine(site), look), worth: worth.leader },
      ...help.map((text) => ({ text: painted(text, "dim"), worth: worth.help })),
      gap,
    ],
    look.rows - 1,
  );
  const room = Math.max(0, look.rows - 1 - lines.length);
  const latest = room === 0 ? [] : news.slice(-room);
  return [...lines, ...latest.map((line) => painted(cut(line, look), toneOf(line)))].slice(0, look.rows - 1);
}

/** At most `count` lines, in order. Among lines with equal priority, the first are kept. */
function worthiest(lines: readonly Line[], count: number): readonly TerminalText[] {
  const kept = new Set([...lines.keys()].sort((a, b) => worthAt(lines, b) - worthAt(lines, a)).slice(0, count));
  return lines.flatMap(({ text }, index) => (kept.has(index) ? [text] : []));
}

const worthAt = (lines: readonly Line[], index: number): number => lines[index]?.worth ?? 0;

/** The keys and their actions, on as many lines as needed, so that no key is cut off. */
function helpLines({ keys, ...look }: TerminalTraits): readonly string[] {
  const lines: string[] = [];
  for (const key of keys?.help.split("  ") ?? []) {
    const longer = [...lines.slice(-1), key].join("  ");
    if (lines.length > 0 && longer.length <= look.columns) lines[lines.length - 1] = longer;
    else lines.push(key);
  }
  return lines.map((line) => cut(line, look));
}

/** The board on which keys act: the first one, until another is chosen. */
const chosenBoard = ({ boards }: SitePicture, { keys }: TerminalTraits): BoardPicture | undefined =>
  keys && (boards.find(({ name }) => name === keys.selected) ?? boards[0]);

/**
 * Which boards are shown when there is not enough room: those with problems come first, and a few lines are reserved
 * for news. The chosen board is always shown.
 */
function boardsShown(
  site: SitePicture,
  look: TerminalTraits,
  helpLines: number,
): { boards: readonly BoardPicture[]; left: number } {
  const { boards, zones, daemons, services } = site;
  const room = Math.max(1, look.rows - zones.length - daemons.length - services.length - Math.max(1, helpLines) - 9);
  if (boards.length <= room) return { boards, left: 0 };
  const [troubled, others] = [boards.filter(isTroubled), boards.filter((board) => !isTroubled(board))];
  const first = [...troubled, ...others].slice(0, room);
  const chosen = chosenBoard(site, look);
  const shown = chosen === undefined || first.includes(chosen) ? first : [...first.slice(0, -1), chosen];
  return { boards: shown, left: boards.length - room };
}

const isTroubled = ({ ready, power, link, taints }: BoardPicture): boolean =>
  ready !== "True" || power === "off" || link !== "up" || taints.length > 0;

/** Redraws the table in place. */
export class LiveTable {
  readonly #write: (text: TerminalText) => void;
  #drawn = 0;

  constructor(deps: { readonly write: (text: TerminalText) => void }) {
    this.#write = deps.write;
  }

  /** Starts over at the top of the terminal, below these lines. */
  clear(above: string): void {
    this.#write([cursor.clearScreen, above]);
    this.#drawn = 0;
  }

  draw(lines: readonly TerminalText[]): void {
    // Clears each line to its end, and all lines below the last, so that nothing flickers.
    const drawn = lines.map((line) => [cursor.clearLine, lineOf(line), "\n"]);
    this.#write([cursor.up(this.#drawn), drawn, cursor.clearBelow]);
    this.#drawn = lines.length;
  }
}

function nameCell(board: BoardPicture, site: SitePicture, look: TerminalTraits): Cell {
  if (look.keys === undefined) return cell(board.name);
  return cell(`${board === chosenBoard(site, look) ? ">" : " "} ${board.name}`);
}

function stateCell({ power, link, ready, cordoned, agent }: BoardPicture, _: SitePicture, look: TerminalTraits): Cell {
  const dot = look.unicode ? "●" : "*";
  const api = ready === "True" ? "Ready" : ready === "absent" ? "absent" : "NotReady";
  const notes = [
    power === "off" ? "power off" : undefined,
    power === "on" && link !== "up" ? `link ${link}` : undefined,
    power === "on" && (agent === "failed" || agent === "suspended") ? `agent ${agent}` : undefined,
    cordoned ? "cordoned" : undefined,
  ].filter((note) => note !== undefined);
  return cell(`${dot} ${[api, ...notes].join(", ")}`, ready === "True" && notes.length === 0 ? "good" : "bad");
}

/** The Lease still names a leader that could not renew it, although the leader knows that its term has ended. */
const deniesLeading = ({ agent, report }: BoardPicture): boolean =>
  agent === "running" && report !== undefined && report.role !== "leader";

function roleCell(board: BoardPicture, { leader }: SitePicture): Cell {
  const { name, report, agent } = board;
  if (leader?.board === name && !deniesLeading(board)) return cell("leader", agent === "running" ? "good" : "bad");
  return cell(agent === "running" ? (report?.role ?? "starting") : "-", "dim");
}

function podsCell({ name }: BoardPicture, { pods }: SitePicture): Cell {
  const here = pods.filter(({ board }) => board === name);
  const leaving = here.filter(({ ending }) => ending).length;
  const ready = here.filter((pod) => pod.ready && !pod.ending).length;
  const count = `${ready}/${here.length - leaving}`;
  return cell(leaving > 0 ? `${count} +${leaving} leaving` : count, ready === here.length ? "plain" : "bad");
}

function taintsCell({ taints }: BoardPicture): Cell {
  if (taints.length === 0) return cell("-", "dim");
  const effects = new Map<string, string[]>();
  for (const taint of taints) {
    const end = taint.lastIndexOf(":");
    const key = taint.slice(0, end);
    effects.set(key, [...(effects.get(key) ?? []), taint.slice(end + 1)]);
  }
  return cell([...effects].map(([key, all]) => `${key}:${all.join(",")}`).join(" "), "bad");
}

const zoneLine = ({ name, ready, boards, state }: ZonePicture): string =>
  `${name}: ${ready} of ${boards} ready${state ? `, ${state}` : ""}`;

export const podsOf = (count: number): string => `${count} ${count === 1 ? "pod" : "pods"}`;

const daemonLine = ({ name, boards, ready, updated }: SitePicture["daemons"][number]): string =>
  `daemon ${name}: ${ready} of ${boards} ready, ${updated} up to date`;

function leaderLine({ apiUp, leader, boards, pods }: SitePicture): string {
  if (!apiUp) return "the API server is down: showing the last known state";
  const unbound = pods.filter(({ board, ending }) => board === undefined && !ending).length;
  const holder = boards.find(({ name }) => name === leader?.board);
  const hasLeft = holder !== undefined && deniesLeading(holder);
  const lead = leader && (hasLeft ? `no leader; the Lease names ${leader.board}` : `${leader.board} leads`);
  const who = leader === undefined ? "no leader" : `${lead}, term ${leader.term}`;
  return unbound === 0 ? who : `${who}; pods without a board: ${unbound}`;
}

/** Omits columns, the least important first, until a row fits. */
function fitting(rows: (shown: readonly Column[]) => readonly (readonly Cell[])[], width: number): readonly Column[] {
  let shown: readonly Column[] = columns;
  for (;;) {
    const all = rows(shown);
    const widths = shown.map((_, at) => Math.max(...all.map((row) => row[at]?.text.length ?? 0)));
    // The last column is truncated before another one is omitted.
    const needed = widths.reduce(
      (sum, width, at) => sum + 2 + (at === shown.length - 1 ? Math.min(width, 16) : width),
      -2,
    );
    if (needed <= width || shown.length === 1) return shown;
    const least = Math.max(...shown.map(({ rank }) => rank));
    shown = shown.filter(({ rank }) => rank !== least);
  }
}

function rowOf(row: readonly Cell[], widths: readonly number[], look: TerminalTraits): TerminalText {
  let room = look.columns;
  return row.map(({ text, tone }, index) => {
    const width = Math.min(widths[index] ?? 0, Math.max(0, room));
    room -= width + 2;
    const isLast = index === row.length - 1;
    const shown = cut(text, { ...look, columns: width });
    return [index === 0 ? "" : "  ", painted(isLast ? shown : shown.padEnd(width), tone)];
  });
}

function cut(text: string, { columns: width, unicode }: TerminalTraits): string {
  const plain = unicode ? oneLine(text) : text.replace(/[^\x20-\x7e]/g, "?");
  if (plain.length <= width) return plain;
  const mark = unicode ? "…" : "~";
  return width <= 1 ? plain.slice(0, width) : `${plain.slice(0, width - 1)}${mark}`;
}

const painted = (text: string, tone: CellTone): TerminalText => (tone === "plain" ? text : withTone(tone, text));

const toneOf = (line: string): CellTone => (/ FAILED /.test(line) ? "bad" : / ok /.test(line) ? "good" : "dim");

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;
