import type { Node } from "../../api/core.ts";
import { boardLeaseKey, leases } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import { listed } from "../../base/text/listed.ts";
import { formatDuration } from "../../base/time/duration.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import { boardVerdicts } from "../../controllers/board-verdicts.ts";
import { lastSignOf } from "../../controllers/node-lifecycle/health.ts";
import { zoneName } from "../../controllers/node-lifecycle/zones/zones.ts";
import type { SilenceFacts } from "../../decisions/grounds.ts";
import { type HoldChange, type HoldEdit, type HoldTurn, TooManyHoldsError } from "../../holds/hold-book.ts";
import {
  covers,
  type Freeze,
  freezeKey,
  type Hold,
  type HoldScope,
  type Holds,
  isRunning,
  maxByLength,
  maxReasonLength,
  runningRelease,
} from "../../holds/holds.ts";
import { CachedSiteView } from "../../loop/site-view.ts";
import { type Author, done, type Effect, type FreezeScope, refused } from "../desk/controls.ts";
import { emitCommandEvent, type OperationsDeps, type OrderBounds } from "./deps.ts";
import { failedEffect } from "./effects.ts";
import { isEffect, scopeNamed, zoneNamed } from "./places.ts";

/** The holds before an order, and when its turn came. */
type Turn = Pick<HoldTurn, "at" | "before">;

/**
 * Executes commands about holds, the site's temporary orders. Answers once a hold is on the Lease, where it survives a
 * change of leader.
 */
export class HoldControls {
  readonly #deps: OperationsDeps;

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
  }

  async freeze(where: FreezeScope, ttl: Millis, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const scope = scopeNamed(where, this.#deps.caches);
    if (isEffect(scope)) return scope;
    const key = freezeKey(scope);
    const now = this.#now();
    const { recovery } = this.#deps.config.judgement;
    const requested = holdUntil(now, ttl, author);
    const freezeIn = ({ freezes }: Holds): Freeze => {
      const hold = noShorter(requested, freezes.get(key));
      return { ...hold, ...scope, slowEnd: shifted(hold.end, recovery) };
    };
    const edit: HoldEdit = (holds) => ({ ...holds, freezes: new Map([...holds.freezes, [key, freezeIn(holds)]]) });
    const result = ({ before }: Turn) => ({
      ...scope,
      until: isoTime(Math.round(freezeIn(before).end.wall)),
      queued: this.#waiting(scope),
    });
    if (dryRun) return done(result(this.#deps.holds.expected()));
    return this.#change(edit, { effect: "at once", signal }, result, () =>
      this.#emit("EvictionFrozen", `Evictions from ${named(scope)} frozen for ${ttl / 1000}s`, author),
    );
  }

  async thaw(where: FreezeScope, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const { caches, config } = this.#deps;
    const scope = scopeNamed(where, caches);
    // A zone can be thawed even if its last board is gone.
    const key = isEffect(scope) ? freezeKey(where) : freezeKey(scope);
    const frozenIn = ({ before, at }: Turn): Freeze | undefined => running(before.freezes.get(key), at);
    const expected = this.#deps.holds.expected();
    if (isEffect(scope) && frozenIn(expected) === undefined) return scope;
    const result = (turn: Turn) => ({
      ...where,
      wasFrozen: frozenIn(turn) !== undefined,
      stillFrozen: this.#frozen().filter((other) => other !== key),
    });
    if (dryRun) return done(result(expected));
    const { recovery } = config.judgement;
    const edit: HoldEdit = (before, at) => {
      const freeze = frozenIn({ before, at });
      if (freeze === undefined) return before;
      const thawed = { ...freeze, end: at, slowEnd: shifted(at, recovery) };
      return { ...before, freezes: new Map([...before.freezes, [key, thawed]]) };
    };
    return this.#change(edit, { effect: "once written", signal }, result, () =>
      this.#emit("EvictionThawed", `Evictions from ${named(where)} thawed`, author),
    );
  }

  /** Releases the safety valve, whether or not it holds acts now: more may be due soon. */
  async releaseValve(ttl: Millis, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const { valve, holds } = this.#deps;
    if (valve === undefined) return noValve;
    const requested = holdUntil(this.#now(), ttl, author);
    const releaseIn = ({ release }: Holds): Hold => noShorter(requested, release);
    const wasHolding = valve.holdingSince !== undefined;
    const result = ({ before }: Turn) => ({ until: isoTime(Math.round(releaseIn(before).end.wall)), wasHolding });
    if (dryRun) return done(result(holds.expected()));
    const edit: HoldEdit = (before) => ({ ...before, release: releaseIn(before) });
    return this.#change(edit, { effect: "once written", signal }, result, () =>
      this.#emit("SafetyValveReleased", `Safety valve released for ${ttl / 1000}s`, author),
    );
  }

  /** Withdraws a release, which permits harm, before it ends by itself. */
  async rearmValve(author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const { valve, holds } = this.#deps;
    if (valve === undefined) return noValve;
    const result = ({ before, at }: Turn) => ({ wasReleased: runningRelease(before, at) !== undefined });
    if (dryRun) return done(result(holds.expected()));
    const edit: HoldEdit = (before) => (before.release === undefined ? before : { ...before, release: undefined });
    return this.#change(edit, { effect: "at once", signal }, result, () =>
      this.#emit("SafetyValveRearmed", "Release of the safety valve withdrawn", author),
    );
  }

  async pause(controller: string, ttl: Millis, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const unknown = this.#unknown(controller);
    if (unknown) return unknown;
    const requested = holdUntil(this.#now(), ttl, author);
    const pauseIn = ({ pauses }: Holds): Hold => noShorter(requested, pauses.get(controller));
    const result = ({ before }: Turn) => ({ controller, until: isoTime(Math.round(pauseIn(before).end.wall)) });
    if (dryRun) return done(result(this.#deps.holds.expected()));
    const edit: HoldEdit = (holds) => ({ ...holds, pauses: new Map([...holds.pauses, [controller, pauseIn(holds)]]) });
    return this.#change(edit, { effect: "at once", signal }, result, () =>
      this.#emit("ControllerPaused", `Controller ${controller} paused for ${ttl / 1000}s`, author),
    );
  }

  async resume(controller: string, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const isPaused = ({ before, at }: Turn): boolean => running(before.pauses.get(controller), at) !== undefined;
    const expected = this.#deps.holds.expected();
    // A paused controller can be resumed even if the configuration has disabled it since.
    const unknown = isPaused(expected) ? undefined : this.#unknown(controller);
    if (unknown) return unknown;
    const result = (turn: Turn) => ({ controller, wasPaused: isPaused(turn) });
    if (dryRun) return done(result(expected));
    const edit: HoldEdit = (holds) =>
      holds.pauses.has(controller) ? { ...holds, pauses: without(holds.pauses, controller) } : holds;
    return this.#change(edit, { effect: "once written", signal }, result, () =>
      this.#emit("ControllerResumed", `Controller ${controller} resumed`, author),
    );
  }

  async confirmZoneDead(name: string, ttl: Millis, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const found = zoneNamed(name, this.#deps.caches);
    if (isEffect(found)) return found;
    const { zone, boards } = found;
    const refusal = notSilent(boards, this.#deps);
    if (refusal) return refusal;
    const lastSigns = new Set(boards.map((node) => lastSignInCache(node, this.#deps.caches)));
    const hold = { ...holdUntil(this.#now(), ttl, author), lastSigns };
    const result = () => ({
      zone,
      until: isoTime(Math.round(hold.end.wall)),
      boards: boards.map(({ metadata }) => metadata.name),
    });
    if (dryRun) return done(result());
    const edit: HoldEdit = (holds) => ({ ...holds, confirmed: new Map([...holds.confirmed, [zone, hold]]) });
    return this.#change(edit, { effect: "once written", signal }, result, () =>
      this.#emit("ZoneConfirmedDead", `Zone ${zone} confirmed to be dead for ${ttl / 1000}s`, author),
    );
  }

  async unconfirmZoneDead(name: string, author: Author, { dryRun, signal }: OrderBounds): Promise<Effect> {
    const found = zoneNamed(name, this.#deps.caches);
    // A confirmation can be withdrawn even if the zone's last board is gone.
    const zone = isEffect(found) ? name : found.zone;
    const isConfirmed = ({ before, at }: Turn): boolean => running(before.confirmed.get(zone), at) !== undefined;
    const expected = this.#deps.holds.expected();
    if (isEffect(found) && !isConfirmed(expected)) return found;
    const result = (turn: Turn) => ({ zone, wasConfirmed: isConfirmed(turn) });
    if (dryRun) return done(result(expected));
    const edit: HoldEdit = (holds) =>
      holds.confirmed.has(zone) ? { ...holds, confirmed: without(holds.confirmed, zone) } : holds;
    return this.#change(edit, { effect: "at once", signal }, result, () =>
      this.#emit("ZoneConfirmationWithdrawn", `Confirmation that zone ${zone} is dead withdrawn`, author),
    );
  }

  async #change(
    edit: HoldEdit,
    how: HoldChange,
    result: (turn: Turn) => JsonRecord,
    emitEvent: () => void,
  ): Promise<Effect> {
    const { holds } = this.#deps;
    const expected = holds.expected();
    let turn: HoldTurn;
    try {
      turn = await holds.change(edit, how);
    } catch (error) {
      return error instanceof TooManyHoldsError ? tooMany : failedEffect(error, result(expected));
    }
    if (turn.isChange) emitEvent();
    return done(result(turn));
  }

  #unknown(controller: string): Effect | undefined {
    const now = this.#now();
    const known = this.#deps.current.loops.map((loop) => loop.stats(now).name);
    if (known.includes(controller)) return undefined;
    return refused(422, "unknown-controller", `no controller ${controller} runs here`, { known });
  }

  /** Number of boards in this scope that wait for eviction. */
  #waiting(scope: HoldScope): number {
    return [...(this.#deps.current.site?.zones ?? [])]
      .flatMap(([zone, { queue }]) => [...queue.waiting.keys()].map((board) => ({ board, zone: zoneName(zone) })))
      .filter((place) => covers(scope, place)).length;
  }

  #frozen(): readonly string[] {
    const now = this.#now();
    return [...this.#deps.holds.ordered.freezes].flatMap(([key, freeze]) => (isRunning(freeze, now) ? [key] : []));
  }

  #emit(reason: string, message: string, author: Author): void {
    emitCommandEvent(this.#deps, this.#deps.elector.lease, { reason, message }, author);
  }

  #now(): Instant {
    return this.#deps.ambient.clock.now();
  }
}

/** The last sign of life that the cache shows, on which the verdict on a silent board rests. */
export const lastSignInCache = (node: Node, caches: OperationsDeps["caches"]): string =>
  lastSignOf(node, caches.informer(leases).lister.get(boardLeaseKey(node.metadata.name))?.metadata.resourceVersion);

/**
 * The refusal to confirm boards as dead: one of them is alive, or their silence is not proven. Undefined if they may be
 * confirmed.
 */
export function notSilent(
  boards: readonly Node[],
  { ambient, caches, client, verdictDeps }: OperationsDeps,
): Effect | undefined {
  const pass = { now: ambient.clock.now(), signal: new AbortController().signal };
  const { held, verdictOn } = boardVerdicts(verdictDeps, new CachedSiteView({ caches, client }, pass));
  const verdicts = boards.map(({ metadata: { name } }) => ({ board: name, ...verdictOn(name) }));
  const alive = verdicts.filter(
    ({ verdict }) => verdict === "alive" || verdict === "cut-off" || verdict === "unmanaged",
  );
  if (alive.length > 0) {
    const judge = verdictDeps.judge();
    const reasons = alive.slice(0, maxNamed).map((facts) => {
      const record = typeof judge === "object" ? judge.boards.get(facts.board) : undefined;
      return `${facts.board} ${aliveText(facts, record?.health.reportedAt, pass.now)}`;
    });
    const message = `not dead: ${listed(reasons, alive.length, "; ")}`;
    return refused(409, "board-alive", message, { boards: alive.map(({ board }) => board) });
  }
  const open = verdicts.filter(({ verdict }) => verdict === undefined || verdict === "unknown");
  if (open.length === 0) return undefined;
  const why = held ?? open[0]?.rule ?? "this agent judges no boards";
  return refused(409, "not-proven", `the silence is not proven: ${why}`, { boards: open.map(({ board }) => board) });
}

/** Maximum number of boards named in a message. */
const maxNamed = 3;

/** Why a board does not count as dead. `reportedAt`: when it last gave a sign of life, as of the last monitor pass. */
function aliveText(
  { verdict, own, silentMs, graceMs }: Partial<SilenceFacts>,
  reportedAt: Instant | undefined,
  now: Instant,
) {
  if (own) return "leads the site";
  if (verdict === "unmanaged") return "answers on the LAN, although its kubelet is not running";
  if (verdict === "cut-off") return "answers on the LAN";
  const ago = reportedAt && elapsed(reportedAt, now);
  if (ago !== undefined && graceMs !== undefined && ago <= graceMs)
    return `sent a heartbeat ${formatDuration(ago)} ago`;
  const left = silentMs === undefined || graceMs === undefined ? 0 : Math.max(0, graceMs - silentMs);
  return left > 0 ? `has ${formatDuration(left)} left of its grace period` : "is within its grace period";
}

function holdUntil(now: Instant, ttl: Millis, { by, reason }: Author): Hold {
  const text = { by: by.slice(0, maxByLength), reason: reason?.slice(0, maxReasonLength) };
  return { end: shifted(now, ttl), ...text, foreign: {} };
}

/** Keeps the end of an existing hold if that is later: only thaw and resume shorten a hold. */
const noShorter = (requested: Hold, before: Hold | undefined): Hold =>
  before !== undefined && before.end.mono > requested.end.mono ? { ...requested, end: before.end } : requested;

const named = ({ scope, target }: HoldScope | (FreezeScope & { readonly target?: string })): string =>
  scope === "site" ? "the site" : `${scope} ${target}`;

const noValve = refused(409, "no-valve", "policy kubernetes has no safety valve", {});

const tooMany = refused(
  409,
  "too-many-holds",
  "the site's Lease has no room for another freeze, pause or confirmation; thaw, resume or withdraw some that are no longer needed",
  {},
);

const running = <T extends Hold>(hold: T | undefined, now: Instant): T | undefined =>
  hold && isRunning(hold, now) ? hold : undefined;

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}
