import { elapsed, type Instant, laterOf } from "../base/clock.ts";
import { asRecord, type JsonRecord } from "../base/json.ts";
import type { Schema } from "../base/schema.ts";
import { isoTime } from "../base/time/iso-time.ts";
import { isReady, levelOf, problems } from "./health.ts";
import type { Parts } from "./parts.ts";
import { type Status, status, statusSchema } from "./schema.ts";

/** Builds the status from its parts. Pure. `before`: the last status; a condition that continues keeps its `since`. */
export function snapshot(parts: Parts, before: Status | undefined): Status {
  const { now, api, watches = [], mqtt, zones, judgement, eviction, controllers, holds } = parts;
  const found = problems(parts);
  const conditions = before?.health.conditions ?? [];
  const sinceOf = (type: string, subject: string | undefined): string | undefined =>
    conditions.find((one) => one.type === type && one.subject === subject)?.since;
  const watch = {
    open: watches.filter(({ state }) => state === "live").length,
    restarts: watches.reduce((sum, { restarts }) => sum + restarts, 0),
    restarts1h: api?.restarts1h,
  };
  return written(
    status,
    {
      ...parts,
      ...parts.process,
      schema: statusSchema,
      writtenAt: now,
      health: {
        level: levelOf(found),
        ready: isReady(parts),
        conditions: found.map((one) => ({ ...one, status: true, since: sinceOf(one.type, one.subject) ?? now })),
      },
      link: api && {
        api: { ...api, lastError: api.error?.message, watch },
        mqtt: mqtt && { ...mqtt, lastError: mqtt.error?.message },
      },
      zones: zones?.map((zone) => ({ ...zone, frozenUntil: frozenUntil(zone.name, holds) })),
      judgement: judgement && { ...judgement, ageMs: judgement.at && elapsed(judgement.at, now) },
      eviction: eviction && { ...eviction, held: eviction.held?.why, frozen: holds?.freezes },
      controllers: controllers?.map((one) => ({ ...one, ...pauseOf(one.name, holds) })),
    },
    now,
  );
}

/** A member of the document before it is written: times may be instants of this process. */
type Unwritten<T> = T extends string
  ? T | Instant
  : T extends readonly (infer E)[]
    ? readonly Unwritten<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Unwritten<T[K]> }
      : T;

/**
 * The value as its schema defines it: without other members, with ISO times for instants, and with whole milliseconds.
 */
const written = <T>({ json }: Schema<T>, value: Unwritten<T>, now: Instant): T => asWritten(json, value, now) as T;

function asWritten({ type, properties, items }: JsonRecord, value: unknown, now: Instant): unknown {
  if (value === undefined) return undefined;
  if (Array.isArray(value)) return value.map((one) => asWritten(asRecord(items), one, now));
  const members = Object.entries(asRecord(properties));
  if (type === "object")
    return Object.fromEntries(
      members.map(([name, member]) => [name, asWritten(asRecord(member), asRecord(value)[name], now)]),
    );
  if (type === "integer") return Math.round(Number(value));
  return isInstant(value) ? iso(value, now) : value;
}

const isInstant = (value: unknown): value is Instant => typeof value === "object";

/**
 * The members whose change justifies a write before the regular interval. Ages, counters and sizes change all the time
 * and are left out, except those of a drain, because an operator waits for it.
 */
export function significantState(status: Status): string {
  const { health, identity, leader, link, zones, boards, eviction, controllers, config, clock, holds, commands } =
    status;
  return JSON.stringify([
    health.level,
    health.ready,
    health.conditions.map(({ type, subject, message }) => [type, subject, type === "BoardDraining" ? message : ""]),
    identity,
    leader && [leader.role, leader.holder, leader.term],
    link?.api.state,
    link?.api.lastError,
    link?.mqtt && [link.mqtt.state, link.mqtt.session, link.mqtt.lastError],
    clock?.state,
    holds && [
      holds.freezes.length,
      holds.pauses.length,
      holds.confirmed.length,
      holds.quietUntil !== undefined,
      holds.release !== undefined,
    ],
    commands?.map(({ id, state }) => [id, state]),
    zones?.map(({ frozenUntil: _frozen, slowUntil: _slow, ...zone }) => zone),
    boards && [boards.lost.count, boards.cutOff?.count, boards.off.count, boards.notReady.count, boards.tainted],
    eviction && [eviction.queue, eviction.queueHeld, eviction.pending, eviction.due, eviction.held],
    controllers?.map(({ name, state }) => [name, state]),
    config,
  ]);
}

/** The later end of the site's freeze and the zone's. */
function frozenUntil(zone: string, holds: Parts["holds"]): Instant | undefined {
  const ends = holds?.freezes.filter(({ scope, target }) => scope === "site" || (scope === "zone" && target === zone));
  return ends?.map(({ until }) => until).reduce(laterOf, undefined);
}

function pauseOf(name: string, holds: Parts["holds"]) {
  const pause = holds?.pauses.find(({ controller }) => controller === name);
  return pause && { state: "paused" as const, until: pause.until, by: pause.by, reason: pause.reason };
}

/** The wall time of an instant, computed back from the current wall clock, which may have been corrected since. */
const iso = (instant: Instant, now: Instant): string => isoTime(Math.round(now.wall - elapsed(instant, now)));
