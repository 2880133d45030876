import { nodes } from "../../api/resources.ts";
import type { Millis } from "../../base/clock.ts";
import { isoTime } from "../../base/iso-time.ts";
import type { JsonRecord } from "../../base/json.ts";
import { boardOf } from "../../board/identity.ts";
import { standsBy } from "../../board/sick-leader.ts";
import { peerOf } from "../../leading/peers.ts";
import { type Author, done, type Effect, refused, type Scope, type SiteControls } from "../desk/controls.ts";
import { confirmBoardDead, cordon } from "./board-acts.ts";
import { type DrainOptions, drain } from "./drain.ts";
import { failed } from "./effects.ts";
import { HoldControls } from "./hold-controls.ts";
import { type ControlParts, toldBy } from "./parts.ts";
import { boardNamed, isEffect } from "./places.ts";

/** Executes commands on the site. Commands for the leader only are refused on other boards, whatever their origin. */
export class AgentSiteControls implements SiteControls {
  readonly #parts: ControlParts;
  readonly #holds: HoldControls;

  constructor(parts: ControlParts) {
    this.#parts = parts;
    this.#holds = new HoldControls(parts);
  }

  standing() {
    const view = this.#parts.elector.view();
    return {
      isLeader: view.role === "leader",
      leader: view.holder ? boardOf(view.holder) : undefined,
      term: view.term,
    };
  }

  freeze(scope: Scope, ttl: Millis, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(() => this.#holds.freeze(scope, ttl, author, dryRun));
  }

  thaw(scope: Scope, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(() => this.#holds.thaw(scope, author, dryRun));
  }

  pause(controller: string, ttl: Millis, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(() => this.#holds.pause(controller, ttl, author, dryRun));
  }

  resume(controller: string, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(() => this.#holds.resume(controller, author, dryRun));
  }

  confirmZoneDead(zone: string, ttl: Millis, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(() => this.#holds.confirmZoneDead(zone, ttl, author, dryRun));
  }

  confirmBoardDead(board: string, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(() => confirmBoardDead(board, author, dryRun, this.#parts));
  }

  stepDown(to: string | undefined, holdOff: Millis, author: Author, dryRun: boolean): Promise<Effect> {
    return this.#asLeader(async () => {
      const unready = to === undefined ? undefined : await this.#whyNotReady(to);
      if (unready) return unready;
      const { elector, ambient } = this.#parts;
      const { term } = elector.view();
      const until = isoTime(Math.round(ambient.clock.now().wall + holdOff));
      const result = { term, ...(to !== undefined && { to }), holdOffMs: holdOff, until };
      if (dryRun) return done(result);
      const message = toldBy(`Lease given back${to === undefined ? "" : ` for ${to}`}`, author);
      try {
        if (await elector.handOver(`told to step down by ${author.by}`, { rest: holdOff, to, message }))
          return done(result);
      } catch (error) {
        return failed(error, result);
      }
      const late = "this board leads no more, but the Lease could not be given back: others wait for its end";
      return { outcome: "failed", code: 503, error: "not-released", message: late, result };
    });
  }

  cordon(board: string | undefined, cordoned: boolean, author: Author, dryRun: boolean): Promise<Effect> {
    const act = (): Promise<Effect> => cordon(board, cordoned, author, dryRun, this.#parts);
    return board === undefined ? act() : this.#asLeader(act);
  }

  drain(
    options: DrainOptions,
    author: Author,
    progress: (done: JsonRecord) => void,
    signal: AbortSignal,
    dryRun = false,
  ): Promise<Effect> {
    return drain({ options, author, progress, signal, dryRun }, this.#parts);
  }

  async #asLeader(act: () => Promise<Effect>): Promise<Effect> {
    const { isLeader, leader, term } = this.standing();
    if (isLeader && this.#parts.work.term) return act();
    return refused(421, "not-leader", "another board leads", { leader, term });
  }

  /** Reads the Node from the API: the board may have become a standby only a moment ago. */
  async #whyNotReady(to: string): Promise<Effect | undefined> {
    const { caches, client, config } = this.#parts;
    if (to === config.board.node) return refused(409, "already-leader", `${to} leads already`, { to });
    const known = boardNamed(to, caches);
    if (isEffect(known)) return known;
    try {
      const { isReady, standby } = peerOf(await client.get(nodes, { name: to }, new AbortController().signal));
      if (isReady && standby === standsBy) return undefined;
      const why = isReady ? "does not stand by" : "is not Ready";
      return refused(409, "not-ready", `${to} ${why}`, { to, ready: isReady, standby });
    } catch (error) {
      return failed(error, { to });
    }
  }
}
