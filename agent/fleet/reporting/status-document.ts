import type { JsonRecord } from "../../base/json.ts";
import type { Status } from "../../status/schema.ts";

/**
 * The board's status for the fleet, a few hundred bytes. Each change to it causes a message, so numbers are rounded to
 * hide small changes (docs/interfaces.md#topics).
 */
export function boardStatus(status: Status): JsonRecord {
  const { health, identity, leader, link, eviction, controllers = [], memory, board, config, version, bootId } = status;
  return {
    version,
    bootId,
    node: identity.node,
    profile: identity.profile,
    health: {
      level: health.level,
      ready: health.ready,
      conditions: health.conditions.slice(0, maxConditions).map(({ type, subject, severity, since, message }) => ({
        type,
        subject,
        severity,
        since,
        message: message.slice(0, maxMessageLength),
      })),
    },
    role: leader?.role,
    leader: leader?.holder,
    term: leader?.term,
    api: link?.api.state,
    lastOutage: link?.api.lastOutage && outageStatus(link.api.lastOutage),
    eviction: eviction && { queue: eviction.queue, held: eviction.held },
    failing: controllers.filter(({ state }) => state === "failing").map(({ name }) => name),
    paused: controllers.filter(({ state }) => state === "paused").map(({ name }) => name),
    rssMiB: memory?.rssBytes === undefined ? undefined : inShares(memory.rssBytes / 2 ** 20, 0.1),
    tempC: board?.tempC === undefined ? undefined : inSteps(board.tempC, 5),
    load1: board?.loadavg1 === undefined ? undefined : Math.round(inShares(board.loadavg1, 0.2) * 100) / 100,
    throttled: board?.throttled?.now,
    config: config?.state === undefined ? undefined : configStatus(config),
  };
}

/** The leader's status of the site. */
export function siteStatus(status: Status): JsonRecord {
  const { zones = [], boards, eviction, controllers = [], leader, holds } = status;
  return {
    holder: leader?.holder,
    term: leader?.term,
    zones: zones.slice(0, maxZones).map(({ name, state, nodes, ready, rate }) => ({ name, state, nodes, ready, rate })),
    boards: boards && {
      lost: boards.lost.count,
      cutOff: boards.cutOff?.count ?? 0,
      off: boards.off.count,
      notReady: boards.notReady.count,
      tainted: boards.tainted,
    },
    eviction: eviction && {
      queue: eviction.queue,
      queueHeld: eviction.queueHeld,
      pending: eviction.pending,
      due: eviction.due,
      evicted1h: eviction.evicted1h,
      held: eviction.held,
    },
    controllers: controllers.map(({ name, state, queue }) => ({ name, state, queue })),
    holds,
  };
}

/**
 * An outage without its times, because they change with each step of the clock, and each change would cause a message.
 */
export const outageStatus = ({ number, from, to, boardsHeld, podsHeld }: ApiOutage): JsonRecord => ({
  number,
  seconds: Math.round((Date.parse(to) - Date.parse(from)) / 1000),
  boardsHeld,
  podsHeld,
});

type ApiOutage = NonNullable<NonNullable<Status["link"]>["api"]["lastOutage"]>;

const configStatus = ({ desiredVersion, appliedVersion, state }: NonNullable<Status["config"]>): JsonRecord => ({
  desiredVersion,
  appliedVersion,
  state,
});

const maxConditions = 16;
const maxMessageLength = 200;
const maxZones = 100;

const inSteps = (value: number, step: number): number => Math.round(value / step) * step;

/** Rounds to a logarithmic scale with steps of `share`: 0.1 for 10 %. */
function inShares(value: number, share: number): number {
  if (value < 0.1) return 0;
  return Math.round((1 + share) ** Math.round(Math.log(value) / Math.log(1 + share)));
}
