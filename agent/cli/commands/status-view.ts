import { formatDuration } from "../../base/duration.ts";
import { oneLine, type Text, type Tone, toned } from "../../base/terminal-text.ts";
import { wrap } from "../../base/wrap.ts";
import type { Condition, Level, Status } from "../../status/schema.ts";
import type { Standstill } from "./service-sight.ts";
import type { Finding } from "./status-reader.ts";
import { ago, statusRows, sum } from "./status-rows.ts";

export interface Look {
  /** Maximum length of a line. */
  readonly width: number;
}

type Known = Extract<Finding, { readonly status: Status }>;

/** The full status for people: problems first, each with its next step. */
export function statusText(found: Known, look: Look, standstill?: Standstill): Text {
  const [first = "", ...more] = headLines(found, look, standstill);
  const head = headWord(found);
  const lines = [...more, "", ...statusRows(found.status, look.width)].map((line) => cut(line, look.width));
  return [toned(...head), cut(first, look.width - head[1].length), "\n", lines.map((line) => `${line}\n`)];
}

/** The status in one line. */
export function shortLine(found: Known, { width }: Look): Text {
  const { status } = found;
  const { leader, zones = [], health } = status;
  const problems = health.conditions.filter(({ severity }) => severity !== "info").map(({ type }) => type);
  const parts = [
    ` ${status.identity.board}`,
    found.kind === "stale" ? lastUpdate(found) : undefined,
    leader &&
      (leader.role === "leader"
        ? `leader, term ${leader.term}`
        : `led by ${leader.holder ?? (status.link?.api.state === "up" ? "nobody" : "?")}`),
    zones.length > 0 ? `boards ${sum(zones, "ready")}/${sum(zones, "nodes")} ready` : undefined,
    status.eviction && `evict ${status.eviction.queue} queued`,
    status.link && `api ${status.link.api.state}`,
    status.link?.mqtt && `mqtt ${status.link.mqtt.state}`,
    problems.length > 0 ? [...new Set(problems)].join(", ") : undefined,
  ];
  const head = headWord(found);
  return [toned(...head), cut(parts.filter((part) => part !== undefined).join(" · "), width - head[1].length), "\n"];
}

/** The first line follows the head word. */
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
          `  ${lastUpdate(found)}`,
          `       the last status of ${name} was ${health.level}`,
          ...(standstill ? wrap(`  -> ${standstill.why}: ${standstill.next}`, look.width) : []),
        ]
      : [`  ${name}${age}`];
  return [...first, ...health.conditions.flatMap((condition) => conditionLines(condition, look))];
}

const lastUpdate = ({ age, why }: Extract<Known, { readonly kind: "stale" }>): string =>
  `last update ${age === undefined ? "before a restart of the board" : `${formatDuration(age)} ago`} (${why})`;

/** After the longest condition type. */
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

const tones: Readonly<Record<Level | "stale", Tone>> = {
  ok: "boldGood",
  degraded: "boldWarn",
  critical: "boldBad",
  stale: "boldBad",
};

function headWord(found: Known): readonly [tone: Tone, word: string] {
  const { level: told, ready } = found.status.health;
  const level = found.kind === "stale" ? "stale" : told;
  return [tones[level], level === "ok" && !ready ? "STARTING" : level.toUpperCase()];
}

/** Foreign text must not begin a new line. */
function cut(line: string, width: number): string {
  const one = oneLine(line);
  return one.length > width ? `${one.slice(0, width - 1)}…` : one;
}
