import type { Millis } from "../../../base/clock.ts";
import { counted } from "../../../base/text/counted.ts";
import { countedHeld } from "../../../base/text/held-count.ts";
import { wrap } from "../../../base/text/wrap.ts";
import { formatDuration } from "../../../base/time/duration.ts";
import { lanText } from "../../../status/lan-text.ts";
import type { Status } from "../../../status/schema.ts";

/**
 * The lines of the status below the problems. Each component has one or more lines, of which the first begins with its
 * label.
 */
export function statusRows(status: Status, width: number): readonly string[] {
  const rows = (label: string, texts: readonly string[]): readonly string[] =>
    texts
      .flatMap((text) => wrap(text.trimEnd(), width - 12))
      .map((text, at) => `${(at === 0 ? label : "").padEnd(11)} ${text}`);
  const { lan, eviction, journal, memory, traffic, board, clock, config, commands = [] } = status;
  return [
    ...rows("Leader", leaderRows(status)),
    ...rows("Links", linkRows(status)),
    ...rows("Last outage", outageRows(status)),
    ...rows("Watches", watchRows(status)),
    ...rows("Zones", zoneRows(status)),
    ...rows("LAN", lan ? [lanText(lan)] : []),
    ...rows("Eviction", eviction ? [evictionRow(eviction, status)] : []),
    ...rows("Controllers", controllerRows(status)),
    ...rows("Journal", journal ? [journalRow(journal)] : []),
    ...rows("Memory", memory ? [memoryRow(memory)] : []),
    ...rows("Traffic", traffic ? [trafficRow(traffic)] : []),
    ...rows("Board", board?.model || board?.storage || board?.tempC !== undefined ? [boardRow(board)] : []),
    ...rows("Clock", clock ? [clockRow(clock)] : []),
    ...rows("Config", config?.desiredVersion === undefined ? [] : [configRow(config)]),
    ...rows("Commands", commands.slice(0, maxCommands).map(commandRow)),
  ];
}

const maxCommands = 3;

/** The width of a column of names in characters: the longest name, at least 16. */
const wide = (names: readonly string[]): number => Math.max(16, ...names.map(({ length }) => length));

function leaderRows({ leader, identity, link, writtenAt }: Status): readonly string[] {
  if (!leader) return [];
  const { role, holder, term, since, leaseAgeMs, leaseDurationMs, renewP95Ms, missedRenewals, ended } = leader;
  const unknown = link && link.api.state !== "up" ? "unknown, because the API cannot be used" : "none";
  const who = role === "leader" ? "this board" : (holder ?? unknown);
  const facts = [
    `${who}${holder === undefined ? "" : `, term ${term}`}`,
    since && holder !== undefined ? `since ${clockTime(since)} (${ago(since, writtenAt)})` : undefined,
  ];
  const lease = [
    leaseAgeMs === undefined ? undefined : leaseText(role, formatDuration(leaseAgeMs), formatDuration(leaseDurationMs)),
    renewP95Ms === undefined ? undefined : `renew p95 ${renewP95Ms} ms`,
    missedRenewals === undefined ? undefined : `${missedRenewals} missed`,
  ];
  const past =
    ended && `; the term of this board ended at ${clockTime(ended.at)} (${ago(ended.at, writtenAt)} ago): ${ended.why}`;
  const self = role === "leader" || holder === identity.board ? "" : (past ?? "; this board is standby");
  return [[joined(facts), joined(lease)].filter(Boolean).join("; ") + self];
}

/**
 * A standby shows when it last read the Lease. It reads rarely, so the Lease may have been renewed many times since.
 */
const leaseText = (role: string, age: string, duration: string): string =>
  role === "leader" ? `lease ${age} old of ${duration}` : `lease of ${duration}, read ${age} ago`;

function linkRows({ link, writtenAt }: Status): readonly string[] {
  if (!link) return [];
  const { state, since, rttP50Ms, rttP95Ms, requests1h, failed1h, answeredMs, watch } = link.api;
  const again =
    watch.restarts1h === undefined ? counted(watch.restarts, "restart") : `${counted(watch.restarts1h, "restart")}/h`;
  const facts = joined([
    `api ${state} for ${ago(since, writtenAt)}`,
    state === "up" || answeredMs === undefined ? undefined : `last answer ${formatDuration(answeredMs)} ago`,
    rttP50Ms === undefined ? undefined : `rtt ${rttP50Ms}/${rttP95Ms ?? "?"} ms p50/p95`,
    // Shown instead of packet loss, which cannot be measured without privileges.
    failed1h === undefined ? undefined : `${failed1h} of ${requests1h} requests failed (1 h)`,
    `${watch.open} ${watch.open === 1 ? "watch" : "watches"} (${again})`,
  ]);
  return [facts, ...(link.mqtt ? [brokerRow(link.mqtt, writtenAt)] : [])];
}

function outageRows({ link, eviction }: Status): readonly string[] {
  const outage = link?.api.lastOutage;
  if (outage === undefined) return [];
  const { from, to, why = "unreachable" } = outage;
  return [
    `${clockTime(from)} to ${clockTime(to)} (${ago(from, to)}): ${outageCauses[why] ?? why}${outageEffect(outage)}${
      eviction?.held === undefined ? "" : "; the hold lasts until the boards report again"
    }`,
  ];
}

/** What an outage held; empty if this board did not lead then. */
function outageEffect({ boardsHeld, podsHeld }: NonNullable<NonNullable<Status["link"]>["api"]["lastOutage"]>): string {
  if (boardsHeld === undefined || podsHeld === undefined) return "";
  const held = [
    ...(boardsHeld > 0 ? [counted(boardsHeld, "board")] : []),
    ...(podsHeld > 0 ? [counted(podsHeld, "pod")] : []),
  ];
  return held.length === 0 ? "; no eviction became due" : `; ${held.join(" and ")} held, nothing evicted`;
}

const outageCauses: Readonly<Record<string, string>> = {
  unreachable: "no response from the API server",
  credentials: "no usable credentials for the API server",
  certificate: "the API server's certificate was not trusted",
  silence: "no heartbeats from the API server, although no request failed",
};

function brokerRow(mqtt: NonNullable<NonNullable<Status["link"]>["mqtt"]>, writtenAt: string): string {
  const { state, since, session, rttMs, outbox, dropped, server } = mqtt;
  const waiting = (["state", "response", "event"] as const)
    .filter((kind) => outbox[kind] > 0)
    .map((kind) => `${outbox[kind]} ${kind}${outbox[kind] === 1 || kind === "state" ? "" : "s"}`);
  const oldest = outbox.oldestMs === undefined ? "" : ` (${formatDuration(outbox.oldestMs)})`;
  return joined([
    `mqtt ${state} for ${ago(since, writtenAt)}`,
    `session ${session}`,
    rttMs === undefined ? undefined : `rtt ${rttMs} ms`,
    waiting.length === 0 ? "outbox empty" : `outbox ${waiting.join(" + ")}${oldest}`,
    `${dropped} dropped`,
    server,
  ]);
}

const watchRows = ({ watches = [] }: Status): readonly string[] =>
  watches.map(({ resource, state, objects, heardMs, rejected }) => {
    const lastEvent = heardMs === undefined ? "" : `last event ${formatDuration(heardMs)} ago`;
    const refused = rejected === 0 ? "" : `, ${rejected} rejected`;
    return [
      resource.padEnd(wide(watches.map((one) => one.resource))),
      state.padEnd(8),
      counted(objects, "object").padEnd(15),
      lastEvent + refused,
    ].join(" ");
  });

const zoneRows = ({ zones = [], judgement, holds }: Status): readonly string[] => [
  ...zones.map(({ name, state, nodes, ready, rate, frozenUntil, slowUntil, slowAfter }) =>
    [
      (name || "(none)").padEnd(wide(zones.map((one) => one.name))),
      state.padEnd(18),
      `${ready}/${nodes} ready`.padEnd(14),
      `${rate}/s`,
      frozenUntil === undefined ? slowText(slowUntil, slowAfter) : `  FROZEN until ${clockTime(frozenUntil)}`,
    ].join(" "),
  ),
  ...(holds?.confirmed ?? []).map(
    ({ target = "", until, by }) => `${target} CONFIRMED DEAD until ${clockTime(until)} by ${by}`,
  ),
  ...(zones.length > 0 && judgement?.ageMs !== undefined ? [judgementRow(judgement, judgement.ageMs)] : []),
];

/** `after`: the event that the slow time follows, an outage or a freeze. */
const slowText = (until: string | undefined, after = "?"): string =>
  until === undefined ? "" : ` slow until ${clockTime(until)} (${after})`;

const judgementRow = (
  { unwritten, isPaused }: Pick<NonNullable<Status["judgement"]>, "unwritten" | "isPaused">,
  ageMs: number,
): string =>
  joined([
    isPaused
      ? `NOT JUDGED for ${formatDuration(ageMs)} (node-lifecycle is paused)`
      : `judged ${formatDuration(ageMs)} ago`,
    unwritten === 0 ? undefined : `${counted(unwritten, "silent board")} not marked in the API yet`,
  ]);

function evictionRow(
  {
    queue,
    queueHeld = 0,
    pending,
    due = 0,
    evicted1h,
    oldestMs,
    held,
    frozen = [],
    valve,
    heldActs = [],
  }: NonNullable<Status["eviction"]>,
  { holds, boards, judgement }: Status,
): string {
  const quiet = holds?.quietUntil;
  const stopped = joined([
    held === undefined ? undefined : `HELD: ${held}`,
    judgement?.isPaused ? "HELD: node-lifecycle is paused" : undefined,
    valve?.heldSince === undefined ? undefined : `SAFETY VALVE SHUT since ${clockTime(valve.heldSince)}`,
    frozen.length === 0 ? undefined : `FROZEN: ${frozen.map(freezeText).join("; ")}`,
    quiet === undefined ? undefined : `quiet hours until ${clockTime(quiet)}`,
    heldText(heldActs),
  ]);
  return joined([
    boards && `${counted(boards.tainted, "board")} tainted`,
    `${counted(queue, "board")} queued${queueHeld > 0 ? ` (${queueHeld} held)` : ""}`,
    oldestMs === undefined ? undefined : `oldest ${formatDuration(oldestMs)}`,
    `${counted(pending, "pod")} waiting`,
    due === 0 ? undefined : `${counted(due, "pod")} ${stopped ? "held" : "due"}`,
    evicted1h === undefined ? undefined : `${counted(evicted1h, "pod")} evicted by this board in the last hour`,
    valve && valve.acts > 0 ? `${valve.acts} of ${valve.limit} harmful acts this hour` : undefined,
    stopped || "not held",
    holds?.release && `safety valve released until ${clockTime(holds.release.until)} by ${holds.release.by}`,
  ]);
}

/** Counts of held acts by reason. Other entries of the same row explain those reasons that apply to the whole site. */
function heldText(heldActs: NonNullable<NonNullable<Status["eviction"]>["heldActs"]>): string | undefined {
  const held = heldActs.filter(({ now }) => now > 0);
  if (held.length === 0) return undefined;
  return `${countedHeld(sum(held, "now"), "act")} held (${held.map(({ why, now }) => `${why} ${now}`).join(", ")})`;
}

const freezeText = ({ scope, target, until, by, reason }: NonNullable<Status["holds"]>["freezes"][number]): string =>
  `${target === undefined ? scope : `${scope} ${target}`} until ${clockTime(until)} by ${by}${reason ? ` (${reason})` : ""}`;

/** States of a controller that need no attention. */
const calmStates: readonly string[] = ["running", "standby", "shadow"];

const controllerRows = ({ controllers = [] }: Status): readonly string[] =>
  controllers.map(({ name, state, queue, syncP95Ms, errors1h, until, by, reason }) => {
    const shown = calmStates.includes(state) ? state : state.toUpperCase();
    const first = [name.padEnd(wide(controllers.map((one) => one.name))), shown.padEnd(8)];
    if (state === "paused" && until)
      return [...first, `until ${clockTime(until)}${by ? ` by ${by}` : ""}${reason ? ` (${reason})` : ""}`].join(" ");
    const speed = syncP95Ms === undefined ? "" : `${syncP95Ms} ms`;
    const errors = errors1h ? `${counted(errors1h, "error")}/h` : "";
    return [...first, `q${queue}`.padEnd(5), speed.padEnd(8), errors].join(" ");
  });

function journalRow(journal: NonNullable<Status["journal"]>): string {
  const { depth, dbBytes, walBytes, path, writtenBytes24h, writtenSpanMs, persistence } = journal;
  return joined([
    `${depth} waiting`,
    `${size(dbBytes)} + WAL ${size(walBytes)}`,
    writtenBytes24h === undefined ? undefined : `${size(writtenBytes24h)} written${inSpan(writtenSpanMs)}`,
    persistence === "volatile" ? "VOLATILE" : undefined,
    path,
  ]);
}

/** A period shorter than a day is shown, so that the bytes are not mistaken for a whole day's. */
const inSpan = (span: Millis | undefined): string => (span === undefined ? "" : ` in ${formatDuration(span)}`);

function memoryRow(memory: NonNullable<Status["memory"]>): string {
  const { rssBytes, anonymousBytes, peakBytes, heapUsedBytes, softBytes, hardBytes, cgroup, psiSome10 } = memory;
  const limits = joined([
    softBytes === undefined ? undefined : `${size(softBytes)} soft`,
    hardBytes === undefined ? undefined : `${size(hardBytes)} hard`,
  ]);
  return joined([
    rssBytes === undefined ? undefined : `${size(rssBytes)} RSS${limits === "" ? "" : ` of ${limits}`}`,
    anonymousBytes === undefined ? undefined : `${size(anonymousBytes)} of it private`,
    peakBytes === undefined ? undefined : `peak ${size(peakBytes)}`,
    `heap ${size(heapUsedBytes)}`,
    cgroup === "off" ? "cgroup limit off" : undefined,
    psiSome10 ? `tasks wait for memory ${psiSome10} % of the time` : undefined,
  ]);
}

/** The total traffic, and the three kinds of requests with the most traffic. */
function trafficRow(traffic: NonNullable<Status["traffic"]>): string {
  const bytes = (row: (typeof traffic)[number]): number => row.sentBytes + row.receivedBytes;
  const most = [...traffic].sort((a, b) => bytes(b) - bytes(a)).slice(0, 3);
  const total = `${size(sum(traffic, "receivedBytes"))} down, ${size(sum(traffic, "sentBytes"))} up`;
  const named = most.map((row) => `${row.verb} ${row.resource} ${size(bytes(row))}`);
  return named.length > 0 ? `${total}; most: ${named.join(", ")}` : total;
}

function boardRow({ model, ramBytes, tempC, loadavg1, throttled, storage }: NonNullable<Status["board"]>): string {
  const now = throttled?.now ?? [];
  const before = throttled?.sinceBoot.filter((one) => !now.includes(one)) ?? [];
  return joined([
    model ?? "no device tree",
    ramBytes === undefined ? undefined : size(ramBytes),
    tempC === undefined ? undefined : `${tempC} °C`,
    loadavg1 === undefined ? undefined : `load ${loadavg1}`,
    storage && storageText(storage),
    now.length === 0 ? undefined : `NOW: ${now.join(", ")}`,
    before.length === 0 ? undefined : `since boot: ${before.join(", ")}`,
  ]);
}

function storageText({ kind, freeBytes, wear, readOnly }: NonNullable<NonNullable<Status["board"]>["storage"]>) {
  const free = freeBytes === undefined ? "" : ` ${size(freeBytes)} free`;
  const worn = wear === undefined ? "" : `, ${Math.round(wear * 100)} % worn`;
  return `${kind ?? "disk"}${free}${worn}${readOnly ? ", READ-ONLY" : ""}`;
}

const clockRow = ({ state, source, apiSkewMs }: NonNullable<Status["clock"]>): string =>
  joined([
    `${state === "synced" ? state : state.toUpperCase()}${source ? ` (${source})` : ""}`,
    apiSkewMs === undefined ? undefined : `API skew ${(apiSkewMs / 1000).toFixed(2)} s`,
  ]);

const configRow = ({ desiredVersion, appliedVersion, state }: NonNullable<Status["config"]>): string =>
  desiredVersion === appliedVersion
    ? `fleet version ${desiredVersion}, ${state ?? "applied"}`
    : `fleet version ${desiredVersion} desired, ${appliedVersion ?? "none"} applied: ${state ?? "pending"}`;

const commandRow = ({ id, name, state, at, by, reason }: NonNullable<Status["commands"]>[number]): string =>
  `${clockTime(at)} ${name} ${state}${by ? ` by ${by}` : ""}${reason ? ` (${reason})` : ""}, id ${id}`;

const joined = (facts: readonly (string | undefined)[]): string =>
  facts.filter((fact) => fact !== undefined && fact !== "").join(", ");

export const sum = <K extends string>(items: readonly { readonly [key in K]: number }[], key: K): number =>
  items.reduce((total, item) => total + item[key], 0);

/** The time between two timestamps of the same machine. */
export function ago(from: string, to: string): string {
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
