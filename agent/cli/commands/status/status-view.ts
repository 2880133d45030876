import { oneLine, type TerminalText, type Tone, withTone } from "../../../base/text/terminal-text.ts";
import { wrap } from "../../../base/text/wrap.ts";
import { formatDuration } from "../../../base/time/duration.ts";
import type { Status, StatusCondition, StatusLevel } from "../../../status/schema.ts";
import type { Standstill } from "./service-state.ts";
import type { StatusFinding } from "./status-reader.ts";
import { ago, statusRows, sum } from "./status-rows.ts";

export interface StatusLayout {
  /** Maximum length of a line. */
  readonly width: number;
}

type Known = Extract<StatusFinding, { readonly status: Status }>;

/** The full status as text: problems first, each with its next step. */
export function statusText(found: Known, layout: StatusLayout, standstill?: Standstill): TerminalText {
  const [first = "", ...more] = headLines(found, layout, standstill);
  const head = headWord(found);
  const lines = [...more, "", ...statusRows(found.status, layout.width)].map((line) => cut(line, layout.width));
  return [withTone(...head), cut(first, layout.width - head[1].length), "\n", lines.map((line) => `${line}\n`)];
}

/** The status in one line of at most `width` characters. A program that reads it needs whole names. */
export function shortLine(found: Known, width: number): TerminalText {
  const { status } = found;
  const { leader, zones = [], health } = status;
  const problems = health.conditions.filter(({ severity }) => severity !== "info").map(({ type }) => type);
  const parts = [
    ` ${status.identity.board}`,
    found.kind === "stale" ? lastUpdate(found) : undefined,
    leader && leadership(leader, status.link?.api.state),
    zones.length > 0 ? `boards ${sum(zones, "ready")}/${sum(zones, "nodes")} ready` : undefined,
    status.eviction && `evict ${status.eviction.queue} queued`,
    status.link && `api ${status.link.api.state}`,
    status.link?.mqtt && `mqtt ${status.link.mqtt.state}`,
    problems.length > 0 ? [...new Set(problems)].join(", ") : undefined,
  ];
  const head = headWord(found);
  return [withTone(...head), cut(parts.filter((part) => part !== undefined).join(" · "), width - head[1].length), "\n"];
}

function leadership({ role, term, holder }: NonNullable<Status["leader"]>, link: string | undefined): string {
  if (role === "leader") return `leader, term ${term}`;
  if (holder !== undefined) return `led by ${holder}`;
  return link === "up" ? "no leader" : "leader unknown";
}

/** The heading and the problems. The first line is appended to the health level. */
function headLines(found: Known, layout: StatusLayout, standstill: Standstill | undefined): string[] {
  const { status } = found;
  const { identity, version, health } = status;
  const up = ago(status.startedAt, status.writtenAt);
  const age = found.kind === "fresh" ? `    (file ${formatDuration(found.age)} old)` : "";
  const fleet = identity.fleet === undefined ? "" : ` · fleet ${identity.fleet}`;
  const name = `${identity.board} · site ${identity.site}${fleet} · siteward ${version} · up ${up}`;
  const first =
    found.kind === "stale"
      ? [
          `  ${lastUpdate(found)}`,
          `       the last status of ${name} was ${health.level}`,
          ...(standstill ? wrap(`  -> ${standstill.why}: ${standstill.next}`, layout.width) : []),
        ]
      : [`  ${name}${age}`];
  return [...first, ...health.conditions.flatMap((condition) => conditionLines(condition, layout))];
}

const lastUpdate = ({ age, why }: Extract<Known, { readonly kind: "stale" }>): string =>
  `last update ${age === undefined ? "before a restart of the board" : `${formatDuration(age)} ago`} (${why})`;

/** The column at which messages begin, after most condition types. */
const messageColumn = 24;

function conditionLines({ type, severity, message, hint }: StatusCondition, { width }: StatusLayout): string[] {
  const mark = severity === "info" ? "-" : "!";
  const name = `  ${mark} ${type} `.padEnd(messageColumn);
  const messageLines = wrap(message, width - name.length);
  const lines = messageLines.map((line, at) => (at === 0 ? name : "".padEnd(messageColumn)) + line);
  const last = lines.at(-1) ?? "";
  if (!hint) return lines;
  if (messageLines.length === 1 && last.length + hint.length + 4 <= width) return [`${last} -> ${hint}`];
  return [...lines, ...wrap(`-> ${hint}`, width - messageColumn).map((line) => " ".repeat(messageColumn) + line)];
}

const tones: ReadonlyMap<StatusLevel | "stale", Tone> = new Map([
  ["ok", "boldGood"],
  ["degraded", "boldWarn"],
]);

function headWord(found: Known): readonly [tone: Tone, word: string] {
  const { health, ending } = found.status;
  const level = found.kind === "stale" ? "stale" : health.level;
  const unready = ending === undefined ? "STARTING" : "STOPPING";
  return [tones.get(level) ?? "boldBad", level === "ok" && !health.ready ? unready : level.toUpperCase()];
}

/** One line of at most `width` characters: line breaks within the text become spaces. */
function cut(line: string, width: number): string {
  const one = oneLine(line);
  return one.length > width ? `${one.slice(0, width - 1)}…` : one;
}
