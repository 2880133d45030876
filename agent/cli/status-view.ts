import { formatDuration } from "../base/duration.ts";
import { wrap } from "../base/wrap.ts";
import type { Condition, Level, Status } from "../status/schema.ts";
import type { Standstill } from "./service-sight.ts";
import type { Finding } from "./status-reader.ts";
import { ago, statusRows, sum } from "./status-rows.ts";

export interface Look {
  readonly colour: boolean;
  /** Lines are no longer than this. */
  readonly width: number;
}

type Known = Extract<Finding, { readonly status: Status }>;

/** The whole status for people: problems first, each with its next step. */
export function statusText(found: Known, look: Look, standstill?: Standstill): string {
  const { status } = found;
  return `${[...headLines(found, look, standstill), "", ...statusRows(status, look.width)].map((line) => cut(line, look)).join("\n")}\n`;
}

/** The status in one line. */
export function shortLine(found: Known, look: Look): string {
  const { status } = found;
  const { leader, zones = [], health } = status;
  const problems = health.conditions.filter(({ severity }) => severity !== "info").map(({ type }) => type);
  const parts = [
    `${headWord(found, look)} ${status.identity.board}`,
    found.kind === "stale" ? lastUpdate(found) : undefined,
    leader && (leader.role === "leader" ? `leader, term ${leader.term}` : `led by ${leader.holder ?? "nobody"}`),
    zones.length > 0 ? `boards ${sum(zones, "ready")}/${sum(zones, "nodes")} ready` : undefined,
    status.eviction && `evict ${status.eviction.queue} queued`,
    status.link && `api ${status.link.api.state}`,
    status.link?.mqtt && `mqtt ${status.link.mqtt.state}`,
    problems.length > 0 ? [...new Set(problems)].join(", ") : undefined,
  ];
  return `${cut(parts.filter((part) => part !== undefined).join(" · "), look)}\n`;
}

function headLines(found: Known, look: Look, standstill: Standstill | undefined): string[] {
  const { status } = found;
  const { identity, version, health } = status;
  const up = ago(status.startedAt, status.writtenAt);
  const age = found.kind === "fresh" ? `    (file ${formatDuration(found.age)} old)` : "";
  const fleet = identity.fleet === undefined ? "" : ` · fleet ${identity.fleet}`;
  const name = `${identity.board} · site ${identity.site}${fleet} · siteward ${version} · up ${up}`;
  const first =
    found.kind === "stale"
      ? [
          `${headWord(found, look)}  ${lastUpdate(found)}`,
          `       the last status of ${name} was ${health.level}`,
          ...(standstill ? wrap(`  -> ${standstill.why}: ${standstill.next}`, look.width) : []),
        ]
      : [`${headWord(found, look)}  ${name}${age}`];
  return [...first, ...health.conditions.flatMap((condition) => conditionLines(condition, look))];
}

const lastUpdate = ({ age, why }: Extract<Known, { readonly kind: "stale" }>): string =>
  `last update ${age === undefined ? "before a restart of the board" : `${formatDuration(age)} ago`} (${why})`;

/** Behind the longest type of a condition. */
const messageColumn = 24;

function conditionLines({ type, severity, message, hint }: Condition, { width }: Look): string[] {
  const mark = severity === "info" ? "-" : "!";
  const told = wrap(message, width - messageColumn);
  const lines = told.map((line, at) => `  ${at === 0 ? `${mark} ${type}` : ""}`.padEnd(messageColumn) + line);
  const last = lines.at(-1) ?? "";
  if (!hint) return lines;
  if (told.length === 1 && last.length + hint.length + 4 <= width) return [`${last} -> ${hint}`];
  return [...lines, ...wrap(`-> ${hint}`, width - messageColumn).map((line) => " ".repeat(messageColumn) + line)];
}

const colours: Readonly<Record<Level | "stale", string>> = { ok: "32", degraded: "33", critical: "31", stale: "31" };

function headWord(found: Known, { colour }: Look): string {
  const { level: told, ready } = found.status.health;
  const level = found.kind === "stale" ? "stale" : told;
  const word = level === "ok" && !ready ? "STARTING" : level.toUpperCase();
  return colour ? `\u001b[1;${colours[level] ?? "0"}m${word}\u001b[0m` : word;
}

/** Colour codes take no room on the screen. */
function cut(line: string, { width }: Look): string {
  // Text from the API may hold anything; a terminal must not be told what to do by it.
  const safe = line.replace(control, "?");
  const hidden = safe.length - safe.replace(colourCode, "").length;
  return safe.length - hidden > width ? `${safe.slice(0, width + hidden - 1)}…` : safe;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
const control = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f\u0080-\u009f]|\u001b(?!\[(1;\d\d|0)m)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours begin with an escape
const colourCode = /\u001b\[(1;\d\d|0)m/g;
