import { elapsed, type Instant } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import { isReady, levelOf, problems } from "./health.ts";
import type { Parts, WatchPart } from "./parts.ts";
import { type Condition, type Status, statusSchema } from "./schema.ts";

/** Parts to status; pure. `before` is the last status: what was already wrong then keeps its beginning. */
export function snapshot(parts: Parts, before: Status | undefined): Status {
  const { now, process, leader, eviction, controllers, watches } = parts;
  const found = problems(parts);
  return {
    schema: statusSchema,
    writtenAt: iso(now, now),
    writtenBootMs: Math.round(process.bootMs),
    staleAfterMs: process.staleAfter,
    bootId: process.bootId,
    invocationId: process.invocationId,
    pid: process.pid,
    version: process.version,
    startedAt: iso(process.startedAt, now),
    writeFailures: process.writeFailures,
    health: {
      level: levelOf(found),
      ready: isReady(parts),
      conditions: found.map(({ type, subject, severity, message, hint }) => ({
        type,
        subject,
        status: true,
        severity,
        since: sinceOf(type, subject, before?.health.conditions ?? []) ?? iso(now, now),
        message,
        hint,
      })),
    },
    identity: parts.identity,
    leader: leader && {
      role: leader.role,
      holder: leader.holder,
      term: leader.term,
      since: leader.since && iso(leader.since, now),
      leaseAgeMs: leader.renewed && age(leader.renewed, now),
      leaseDurationMs: leader.duration,
      renewP95Ms: rounded(leader.renewP95),
      missedRenewals: leader.missedRenewals,
    },
    link: parts.api && { api: apiStatus(parts.api, watches ?? [], now) },
    watches: watches?.map(({ heard, lastList: _, ...rest }) => ({ ...rest, heardMs: heard && age(heard, now) })),
    traffic: parts.traffic,
    zones: parts.zones,
    eviction: eviction && {
      queue: eviction.queue,
      pending: eviction.pending,
      evicted1h: eviction.evicted1h,
      oldestMs: eviction.oldest && age(eviction.oldest, now),
      held: eviction.held?.why,
    },
    controllers: controllers?.map(({ syncP95, ...rest }) => ({ ...rest, syncP95Ms: rounded(syncP95) })),
    journal: parts.journal,
    memory: parts.memory,
    board: parts.board,
    config: parts.config,
  };
}

/**
 * What makes a new status worth a write before its time: what a person would call news. Ages, counters and sizes move
 * all the time; they ride along.
 */
export function substance(status: Status): string {
  const { health, identity, leader, link, zones, eviction, controllers, config } = status;
  return JSON.stringify([
    health.level,
    health.ready,
    health.conditions.map(({ type, subject }) => [type, subject]),
    identity,
    leader && [leader.role, leader.holder, leader.term],
    link?.api.state,
    link?.api.lastError,
    zones,
    eviction && [eviction.queue, eviction.pending, eviction.held],
    controllers?.map(({ name, state }) => [name, state]),
    config,
  ]);
}

function apiStatus(api: NonNullable<Parts["api"]>, watches: readonly WatchPart[], now: Instant) {
  const lists = watches.flatMap(({ lastList }) => lastList ?? []);
  const last = lists.reduce<Instant | undefined>((a, b) => (a && a.mono >= b.mono ? a : b), undefined);
  return {
    state: api.state,
    server: api.server,
    since: iso(api.since, now),
    rttP50Ms: rounded(api.rtt?.p50),
    rttP95Ms: rounded(api.rtt?.p95),
    lastError: api.error?.message,
    watch: {
      open: watches.filter(({ state }) => state === "live").length,
      restarts: watches.reduce((sum, { restarts }) => sum + restarts, 0),
      lastRelist: last && iso(last, now),
    },
  };
}

const sinceOf = (type: string, subject: string | undefined, before: readonly Condition[]): string | undefined =>
  before.find((one) => one.type === type && one.subject === subject)?.since;

/** Counted back from now: the wall clock at the time itself may have been years off, and corrected since. */
const iso = (instant: Instant, now: Instant): string => isoTime(Math.round(now.wall - elapsed(instant, now)));

const age = (instant: Instant, now: Instant): number => Math.max(0, Math.round(elapsed(instant, now)));
const rounded = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.round(value);
