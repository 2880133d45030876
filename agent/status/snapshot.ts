import { elapsed, type Instant } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import { isReady, levelOf, problems } from "./health.ts";
import type { HoldsPart, Parts, WatchPart } from "./parts.ts";
import { type Condition, type Status, statusSchema } from "./schema.ts";
import type { BoardsPart } from "./site-parts.ts";

/**
 * Builds the status from its parts; pure. `before` is the last status: a condition that persists keeps its start time.
 */
export function snapshot(parts: Parts, before: Status | undefined): Status {
  const { now, process, leader, eviction, controllers, watches, journal, board, clock } = parts;
  const holds = parts.holds && holdsStatus(parts.holds, now);
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
    ending: process.ending,
    previous: process.previous,
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
    clock: clock && { state: clock.state, source: clock.source, apiSkewMs: rounded(clock.apiSkew) },
    leader: leader && {
      role: leader.role,
      holder: leader.holder,
      term: leader.term,
      since: leader.since && iso(leader.since, now),
      leaseAgeMs: leader.renewed && age(leader.renewed, now),
      leaseDurationMs: leader.duration,
      renewP95Ms: rounded(leader.renewP95),
      missedRenewals: leader.missedRenewals,
      ended: leader.ended && { at: iso(leader.ended.at, now), why: leader.ended.why },
    },
    link: parts.api && {
      api: apiStatus(parts.api, watches ?? [], now),
      mqtt: parts.mqtt && mqttStatus(parts.mqtt, now),
    },
    watches: watches?.map(({ heard, behind, lastList: _, ...rest }) => ({
      ...rest,
      heardMs: heard && age(heard, now),
      behindMs: rounded(behind),
    })),
    traffic: parts.traffic,
    zones: parts.zones?.map((zone) => ({ ...zone, frozenUntil: frozenUntil(zone.name, holds) })),
    boards: parts.boards && boardsStatus(parts.boards, now),
    judgement: parts.judgement && {
      ageMs: parts.judgement.at && age(parts.judgement.at, now),
      unwritten: parts.judgement.unwritten,
    },
    eviction: eviction && {
      queue: eviction.queue,
      queueHeld: eviction.queueHeld,
      pending: eviction.pending,
      due: eviction.due,
      evicted1h: eviction.evicted1h,
      acts: eviction.acts,
      oldestMs: eviction.oldest && age(eviction.oldest, now),
      held: eviction.held?.why,
      frozen: holds?.freezes,
    },
    controllers: controllers?.map(({ syncP95, ...rest }) => ({
      ...rest,
      syncP95Ms: rounded(syncP95),
      ...pauseOf(rest.name, holds),
    })),
    journal: journal && {
      path: journal.path,
      depth: journal.depth,
      dbBytes: journal.dbBytes,
      walBytes: journal.walBytes,
      lastCommitMs: journal.lastCommit && age(journal.lastCommit, now),
      fsyncP95Ms: rounded(journal.fsyncP95),
      persistence: journal.persistence,
      writtenBytes24h: rounded(journal.writtenBytes24h),
      writtenSpanMs: rounded(journal.writtenSpan),
    },
    memory: parts.memory,
    board: board && boardStatus(board),
    config: parts.config,
    holds,
    commands: parts.commands?.map(({ at, ...rest }) => ({ ...rest, at: iso(at, now) })),
  };
}

/**
 * The members whose change justifies a write before the regular interval. Ages, counters and sizes change all the time
 * and are left out.
 */
export function substance(status: Status): string {
  const { health, identity, leader, link, zones, boards, eviction, controllers, config, clock, holds, commands } =
    status;
  return JSON.stringify([
    health.level,
    health.ready,
    health.conditions.map(({ type, subject }) => [type, subject]),
    identity,
    leader && [leader.role, leader.holder, leader.term],
    link?.api.state,
    link?.api.lastError,
    link?.mqtt && [link.mqtt.state, link.mqtt.session, link.mqtt.lastError],
    clock?.state,
    holds && [holds.freezes.length, holds.pauses.length, holds.confirmed.length, holds.quietUntil !== undefined],
    commands?.map(({ id, state }) => [id, state]),
    zones?.map(({ frozenUntil: _, ...zone }) => zone),
    boards && [boards.lost.count, boards.off.count, boards.notReady.count, boards.tainted],
    eviction && [eviction.queue, eviction.queueHeld, eviction.pending, eviction.due, eviction.held],
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
    requests1h: api.requests1h,
    failed1h: api.failed1h,
    lastError: api.error?.message,
    lastOutage: api.lastOutage && {
      number: api.lastOutage.number,
      from: iso(api.lastOutage.began, now),
      to: iso(api.lastOutage.ended, now),
      boardsHeld: api.lastOutage.held.boards,
      podsHeld: api.lastOutage.held.pods,
    },
    watch: {
      open: watches.filter(({ state }) => state === "live").length,
      restarts: watches.reduce((sum, { restarts }) => sum + restarts, 0),
      restarts1h: api.restarts1h,
      lastRelist: last && iso(last, now),
    },
  };
}

function mqttStatus({ since, rtt, outbox, error, ...rest }: NonNullable<Parts["mqtt"]>, now: Instant) {
  const { oldest, ...rows } = outbox;
  return {
    ...rest,
    since: iso(since, now),
    rttMs: rounded(rtt),
    outbox: { ...rows, oldestMs: rounded(oldest) },
    lastError: error?.message,
  };
}

function boardsStatus({ lost, off, notReady, tainted }: BoardsPart, now: Instant) {
  const named = ({ count, some }: BoardsPart["lost"]) => ({
    count,
    some: some.map(({ since, ...rest }) => ({ ...rest, since: iso(since, now) })),
  });
  return { lost: named(lost), off: named(off), notReady: named(notReady), tainted };
}

function holdsStatus({ freezes, pauses, confirmed = [], quietUntil }: HoldsPart, now: Instant) {
  const told = <T extends { readonly until: Instant }>(one: T) => ({ ...one, until: iso(one.until, now) });
  return {
    freezes: freezes.map(told),
    pauses: pauses.map(told),
    confirmed: confirmed.map(told),
    quietUntil: quietUntil && iso(quietUntil, now),
  };
}

type HoldsStatus = ReturnType<typeof holdsStatus> | undefined;

/** The later end of the site's freeze and the zone's. ISO times sort as text. */
function frozenUntil(zone: string, holds: HoldsStatus): string | undefined {
  const ends = holds?.freezes.filter(({ scope, target }) => scope === "site" || (scope === "zone" && target === zone));
  return ends
    ?.map(({ until }) => until)
    .reduce<string | undefined>((a, b) => (a !== undefined && a > b ? a : b), undefined);
}

function pauseOf(name: string, holds: HoldsStatus) {
  const pause = holds?.pauses.find(({ controller }) => controller === name);
  return pause && { state: "paused" as const, until: pause.until, by: pause.by, reason: pause.reason };
}

const boardStatus = ({ load1, ...rest }: NonNullable<Parts["board"]>) => ({ ...rest, loadavg1: load1 });

const sinceOf = (type: string, subject: string | undefined, before: readonly Condition[]): string | undefined =>
  before.find((one) => one.type === type && one.subject === subject)?.since;

/** Computed back from now: the wall clock of that time may have been off by years and corrected since. */
const iso = (instant: Instant, now: Instant): string => isoTime(Math.round(now.wall - elapsed(instant, now)));

const age = (instant: Instant, now: Instant): number => Math.max(0, Math.round(elapsed(instant, now)));
const rounded = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Math.round(value);
