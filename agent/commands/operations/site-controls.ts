import { nodes } from "../../api/resources.ts";
import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import { listed } from "../../base/text/listed.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import { boardOf } from "../../board/identity.ts";
import { standingBy, standsBy } from "../../board/sick-leader.ts";
import { isShadowed, type JudgingController, judgingControllers, modeSetting } from "../../config/shadow-mode.ts";
import { maxTakeover } from "../../election/follower-pace.ts";
import { isPaused } from "../../holds/holds.ts";
import { peerOf, peersIn } from "../../leading/peers.ts";
import {
  type Author,
  type Draining,
  done,
  type Effect,
  type FreezeScope,
  refused,
  type SiteControls,
} from "../desk/controls.ts";
import { confirmBoardDead } from "./board-acts.ts";
import { Cordons } from "./cordons.ts";
import { type OperationsDeps, withAuthor } from "./deps.ts";
import { BoardDrain, type DrainOptions } from "./drain.ts";
import { failedEffect } from "./effects.ts";
import { HoldControls } from "./hold-controls.ts";
import { boardNamed, isEffect } from "./places.ts";

/** Executes commands on the site. A board that does not lead refuses commands for the leader, including local ones. */
export class AgentSiteControls implements SiteControls {
  readonly #deps: OperationsDeps;
  readonly #holds: HoldControls;
  readonly #cordons: Cordons;
  #drain: BoardDrain | undefined;

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
    this.#holds = new HoldControls(deps);
    this.#cordons = new Cordons(deps);
  }

  standing() {
    const view = this.#deps.elector.view();
    return {
      isLeader: view.role === "leader",
      leader: view.holder ? boardOf(view.holder) : undefined,
      term: view.term,
    };
  }

  freeze(scope: FreezeScope, ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.freeze(scope, ttl, author, { dryRun, signal }));
  }

  thaw(scope: FreezeScope, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.thaw(scope, author, { dryRun, signal }));
  }

  releaseValve(ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.releaseValve(ttl, author, { dryRun, signal }));
  }

  rearmValve(author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.rearmValve(author, { dryRun, signal }));
  }

  pause(controller: string, ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.pause(controller, ttl, author, { dryRun, signal }));
  }

  resume(controller: string, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.resume(controller, author, { dryRun, signal }));
  }

  confirmZoneDead(zone: string, ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    const act = (): Promise<Effect> => this.#holds.confirmZoneDead(zone, ttl, author, { dryRun, signal });
    return this.#asLeader(() => this.#carriedOutBy(["nodeLifecycle", "taintEviction"], act));
  }

  unconfirmZoneDead(zone: string, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    return this.#asLeader(() => this.#holds.unconfirmZoneDead(zone, author, { dryRun, signal }));
  }

  confirmBoardDead(board: string, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    const act = (): Promise<Effect> => confirmBoardDead(board, author, { dryRun, signal }, this.#deps);
    return this.#asLeader(() => this.#carriedOutBy(["nodeLifecycle", "podGC"], act, ["taintEviction"]));
  }

  stepDown(
    to: string | undefined,
    holdOff: Millis,
    author: Author,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<Effect> {
    return this.#asLeader(async () => {
      const unready = to === undefined ? undefined : await this.#whyNotReady(to, signal);
      if (unready) return unready;
      const { elector, ambient, config } = this.#deps;
      const { term } = elector.view();
      const until = isoTime(Math.round(ambient.clock.now().wall + holdOff));
      const standby = to ?? this.#standby();
      const result = {
        term,
        ...(to !== undefined && { to }),
        holdOffMs: holdOff,
        until,
        standby: standby ?? null,
        // The standby's agent may have ended since it announced itself.
        leadsAgainAfterMs: Math.min(holdOff, maxTakeover(config.leader)),
      };
      if (dryRun) return done(result);
      const message = withAuthor(`Lease released${to === undefined ? "" : ` for ${to}`}`, author);
      try {
        if (await elector.handOver(`asked to step down by ${author.by}`, { rest: holdOff, to, message }))
          return done(result);
      } catch (error) {
        return failedEffect(error, result);
      }
      const unreleased =
        "this board no longer leads, but the Lease was not released, so other boards must wait until it expires";
      return { outcome: "failed", code: 503, error: "not-released", message: unreleased, result };
    });
  }

  async cordon(
    board: string | undefined,
    cordoned: boolean,
    author: Author,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<Effect> {
    const isOwn = board === undefined || board === this.#deps.config.board.node;
    const act = (): Promise<Effect> => {
      // At once, not when the board is uncordoned: until then the drain would go on evicting.
      if (isOwn && !cordoned && !dryRun) this.#drain?.overrule();
      return this.#cordons.order(board, cordoned, author, { dryRun, signal });
    };
    return board === undefined ? act() : this.#asLeader(act);
  }

  async drain(
    options: DrainOptions,
    author: Author,
    progress: (done: JsonRecord) => void,
    signal: AbortSignal,
    dryRun = false,
  ): Promise<Effect> {
    const { statusChanged: changed } = this.#deps;
    const drain = new BoardDrain({ options, author, progress, changed, signal, dryRun }, this.#deps, this.#cordons);
    if (dryRun) return drain.run();
    this.#drain = drain;
    try {
      return await drain.run();
    } finally {
      if (this.#drain === drain) this.#drain = undefined;
    }
  }

  draining(): Draining | undefined {
    return this.#drain?.view();
  }

  async #asLeader(act: () => Promise<Effect>): Promise<Effect> {
    const { isLeader, leader, term } = this.standing();
    if (isLeader && this.#deps.current.term) return act();
    return refused(421, "not-leader", "another board leads", { leader, term });
  }

  /**
   * Gives an order that controllers carry out later. Refuses it if one that it needs is in shadow mode, or if boards are not
   * judged at present; the result names those that are paused, because until they are resumed nothing follows from the
   * order. `also`: controllers that carry out a part of it.
   */
  async #carriedOutBy(
    needed: readonly JudgingController[],
    act: () => Promise<Effect>,
    also: readonly JudgingController[] = [],
  ): Promise<Effect> {
    const shadowed = needed.filter((name) => isShadowed(this.#deps.config, name));
    if (shadowed.length > 0) {
      const settings = shadowed.map(modeSetting);
      const message = `${listed(settings, settings.length)} ${settings.length === 1 ? "is" : "are"} shadow: siteward writes nothing for them, so this order would have no effect`;
      return refused(409, "shadow", message, { settings });
    }
    const { holds, ambient } = this.#deps;
    const paused = [...needed, ...also]
      .map((name) => judgingControllers[name])
      .filter((name) => isPaused(holds.ordered, name, ambient.clock.now()));
    if (paused.includes(judgingControllers.nodeLifecycle)) {
      const message = `the silence is not proven: ${judgingControllers.nodeLifecycle} is paused, so no board is judged; resume it first (controllers.resume)`;
      return refused(409, "not-proven", message, { paused });
    }
    const effect = await act();
    return effect.outcome === "done" && paused.length > 0 ? done({ ...effect.result, paused }) : effect;
  }

  /** Another board that has announced itself as a standby; undefined if there is none. */
  #standby(): string | undefined {
    const { caches, config } = this.#deps;
    return standingBy(peersIn(caches.informer(nodes).lister, config.board.node));
  }

  /**
   * Why a board cannot take over; undefined if it can. The Node is read from the API, as the board may have only just
   * become a standby.
   */
  async #whyNotReady(to: string, signal: AbortSignal): Promise<Effect | undefined> {
    const { caches, client, config } = this.#deps;
    if (to === config.board.node) return refused(409, "already-leader", `${to} already leads`, { to });
    const node = boardNamed(to, caches);
    if (isEffect(node)) return node;
    try {
      const { isReady, standby } = peerOf(await client.get(nodes, { name: to }, signal));
      if (isReady && standby === standsBy) return undefined;
      const why = isReady ? "is not a standby" : "is not Ready";
      return refused(409, "not-ready", `${to} ${why}`, { to, ready: isReady, standby });
    } catch (error) {
      return failedEffect(error, { to });
    }
  }
}
