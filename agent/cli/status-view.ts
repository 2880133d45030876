import type { Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { wrap } from "../base/wrap.ts";
import type { Condition, Level, Status } from "../status/schema.ts";
import type { Finding } from "./status-reader.ts";

export interface Look {
  readonly colour: boolean;
  /** Lines are no longer than this. */
  readonly width: number;
}

type Known = Extract<Finding, { readonly status: Status }>;

/** The whole status for people: problems first, each with its next step. */
export function statusText(found: Known, look: Look): string {
  const { status } = found;
  return `${[...headLines(found, look), "", ...bodyLines(status, look)].map((line) => cut(line, look)).join("\n")}\n`;
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
    problems.length > 0 ? [...new Set(problems)].join(", ") : undefined,
  ];
  return `${cut(parts.filter((part) => part !== undefined).join(" · "), look)}\n`;
}

function headLines(found: Known, look: Look): string[] {
  const { status } = found;
  const { identity, version, health } = status;
  const up = ago(status.startedAt, status.writtenAt);
  const age = found.kind === "fresh" ? `    (file ${formatDuration(found.age)} old)` : "";
  const name = `${identity.board} · site ${identity.site} · siteward ${version} · up ${up}`;
  const first =
    found.kind === "stale"
      ? [`${headWord(found, look)}  ${lastUpdate(found)}`, `       the last status of ${name} was ${health.level}`]
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

function bodyLines(status: Status, { width }: Look): string[] {
  const rows = (label: string, texts: readonly string[]): string[] =>
    texts
      .flatMap((text) => wrap(text.trimEnd(), width - 12))
      .map((text, at) => `${(at === 0 ? label : "").padEnd(11)} ${text}`);
  const wide = (names: readonly string[]): number => Math.max(16, ...names.map(({ length }) => length));
  const { watches = [], zones = [], eviction, controllers = [], journal, memory, traffic, board } = status;
  return [
    ...rows("Leader", leaderRows(status)),
    ...rows("Link", linkRows(status)),
    ...rows(
      "Watches",
      watches.map(({ resource, state, objects, heardMs, rejected }) => {
        const heard = heardMs === undefined ? "" : `heard ${formatDuration(heardMs)} ago`;
        const refused = rejected === 0 ? "" : `, ${rejected} rejected`;
        return [
          resource.padEnd(wide(watches.map((one) => one.resource))),
          state.padEnd(8),
          `${objects} objects`.padEnd(15),
          heard + refused,
        ].join(" ");
      }),
    ),
    ...rows(
      "Zones",
      zones.map(({ name, state, nodes, ready, rate }) =>
        [
          (name || "(none)").padEnd(wide(zones.map((one) => one.name))),
          state.padEnd(18),
          `${ready}/${nodes} ready`.padEnd(14),
          `${rate}/s`,
        ].join(" "),
      ),
    ),
    ...rows("Eviction", eviction ? [evictionRow(eviction)] : []),
    ...rows(
      "Controllers",
      controllers.map(({ name, state, queue, syncP95Ms, errors1h }) => {
        const shown = state === "running" || state === "standby" ? state : state.toUpperCase();
        const speed = syncP95Ms === undefined ? "" : `${syncP95Ms} ms`;
        const errors = errors1h ? `${errors1h} error${errors1h === 1 ? "" : "s"}/h` : "";
        return [
          name.padEnd(wide(controllers.map((one) => one.name))),
          shown.padEnd(8),
          `q${queue}`.padEnd(5),
          speed.padEnd(8),
          errors,
        ].join(" ");
      }),
    ),
    ...rows(
      "Journal",
      journal
        ? [`${journal.depth} waiting, ${size(journal.dbBytes)} + WAL ${size(journal.walBytes)}, ${journal.path}`]
        : [],
    ),
    ...rows("Memory", memory ? [memoryRow(memory)] : []),
    ...rows("Traffic", traffic ? [trafficRow(traffic)] : []),
    ...rows("Board", board?.model ? [`${board.model}${board.ramBytes ? `, ${size(board.ramBytes)}` : ""}`] : []),
  ];
}

function leaderRows({ leader, identity, writtenAt }: Status): string[] {
  if (!leader) return [];
  const { role, holder, term, since, leaseAgeMs, leaseDurationMs, renewP95Ms, missedRenewals } = leader;
  const who = role === "leader" ? "this board" : (holder ?? "nobody");
  const facts = [
    `${who}${holder === undefined ? "" : `, term ${term}`}`,
    since && holder !== undefined ? `since ${clockTime(since)} (${ago(since, writtenAt)})` : undefined,
  ];
  const lease = [
    leaseAgeMs === undefined ? undefined : leaseText(role, formatDuration(leaseAgeMs), formatDuration(leaseDurationMs)),
    renewP95Ms === undefined ? undefined : `renew p95 ${renewP95Ms} ms`,
    missedRenewals === undefined ? undefined : `${missedRenewals} missed`,
  ];
  const self = role === "leader" || holder === identity.board ? "" : `; this board is standby`;
  return [[joined(facts), joined(lease)].filter(Boolean).join("; ") + self];
}

/** Who does not lead looks rarely: since he saw it last, the Lease may have been renewed many times. */
const leaseText = (role: string, age: string, duration: string): string =>
  role === "leader" ? `lease ${age} old of ${duration}` : `lease of ${duration}, seen ${age} ago`;

function linkRows({ link, writtenAt }: Status): string[] {
  if (!link) return [];
  const { state, server, since, rttP50Ms, rttP95Ms, watch } = link.api;
  const rtt = rttP50Ms === undefined ? undefined : `rtt ${rttP50Ms}/${rttP95Ms ?? "?"} ms p50/p95`;
  const facts = joined([
    `api ${state} for ${ago(since, writtenAt)}`,
    rtt,
    `watches live: ${watch.open}, reopened: ${watch.restarts}`,
  ]);
  return server ? [facts, server] : [facts];
}

function evictionRow({ queue, pending, evicted1h, oldestMs, held }: NonNullable<Status["eviction"]>): string {
  return joined([
    `${queue} boards queued`,
    oldestMs === undefined ? undefined : `oldest ${formatDuration(oldestMs)}`,
    `${pending} pods waiting`,
    evicted1h === undefined ? undefined : `${evicted1h} evicted in the last hour`,
    held === undefined ? "not held" : `HELD: ${held}`,
  ]);
}

function memoryRow({ rssBytes, anonymousBytes, peakBytes, heapUsedBytes }: NonNullable<Status["memory"]>): string {
  return joined([
    rssBytes === undefined ? undefined : `${size(rssBytes)} RSS`,
    anonymousBytes === undefined ? undefined : `${size(anonymousBytes)} of it private`,
    peakBytes === undefined ? undefined : `peak ${size(peakBytes)}`,
    `heap ${size(heapUsedBytes)}`,
  ]);
}

/** All of it, and what costs most. */
function trafficRow(traffic: NonNullable<Status["traffic"]>): string {
  const bytes = (row: (typeof traffic)[number]): number => row.sentBytes + row.receivedBytes;
  const most = [...traffic].sort((a, b) => bytes(b) - bytes(a)).slice(0, 3);
  const total = `${size(sum(traffic, "receivedBytes"))} down, ${size(sum(traffic, "sentBytes"))} up`;
  const named = most.map((row) => `${row.verb} ${row.resource} ${size(bytes(row))}`);
  return named.length > 0 ? `${total}; most: ${named.join(", ")}` : total;
}

const joined = (facts: readonly (string | undefined)[]): string =>
  facts.filter((fact) => fact !== undefined).join(", ");

const sum = <K extends string>(items: readonly { readonly [key in K]: number }[], key: K): number =>
  items.reduce((total, item) => total + item[key], 0);

const colours: Readonly<Record<Level | "stale", string>> = { ok: "32", degraded: "33", critical: "31", stale: "31" };

function headWord(found: Known, { colour }: Look): string {
  const { level: told, ready } = found.status.health;
  const level = found.kind === "stale" ? "stale" : told;
  const word = level === "ok" && !ready ? "STARTING" : level.toUpperCase();
  return colour ? `\u001b[1;${colours[level] ?? "0"}m${word}\u001b[0m` : word;
}

/** From one time of the writer to another, by its own clock. */
function ago(from: string, to: string): string {
  const passed: Millis = Date.parse(to) - Date.parse(from);
  return Number.isFinite(passed) ? formatDuration(Math.max(0, passed)) : "?";
}

function clockTime(at: string): string {
  const time = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${two(time.getHours())}:${two(time.getMinutes())}`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [amount, unit] =
    bytes < 2 ** 20 ? [bytes / 2 ** 10, "KiB"] : bytes < 2 ** 30 ? [bytes / 2 ** 20, "MiB"] : [bytes / 2 ** 30, "GiB"];
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
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
