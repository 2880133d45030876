import { nodes, pods } from "../../../agent/api/resources.ts";
import type { Instant, Millis } from "../../../agent/base/clock.ts";
import { nodeLifecycle, siteKey } from "../../../agent/controllers/node-lifecycle/controller.ts";
import type { BoardRecord, SiteMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import type { SiteState } from "../../../agent/controllers/node-lifecycle/pass.ts";
import { podReadiness } from "../../../agent/controllers/node-lifecycle/pod-readiness.ts";
import type { NodeLifecycleSettings } from "../../../agent/controllers/node-lifecycle/settings.ts";
import { decodeBudget, encodeBudget } from "../../../agent/controllers/node-lifecycle/zones/budget-annotation.ts";
import type { ControlLoop } from "../../../agent/loop/control-loop.ts";
import type { Controller, Decision } from "../../../agent/loop/controller.ts";
import type { Outcome } from "../outcome.ts";
import { stateNames } from "../zone-names.ts";
import type { CaseTime } from "./case-time.ts";
import { ms } from "./case-time.ts";
import { Site } from "./site.ts";
import { showBoards, showPods, showZones, zoneLabel } from "./snapshot.ts";

const longestPass: Millis = 1000;

/** Later than any case goes on. */
const never: Instant = { mono: 1e15, wall: 1e15 };

interface ZoneChange {
  readonly atMs: Millis;
  readonly zone: string;
  readonly state: string;
  readonly qps: number;
}

/** A site whose leader judges the boards: the node-lifecycle controller and its companion for newly bound pods. */
export class LifecycleSite {
  readonly site: Site;
  readonly #time: CaseTime;
  readonly #settings: NodeLifecycleSettings;
  readonly #isAsked: boolean;
  readonly #zoneChanges: ZoneChange[] = [];
  #judge: ControlLoop<SiteState, SiteMemory> | undefined;
  #hasBegun = false;
  #mayPass = false;

  /** `isAsked`: monitor passes happen on request, not every period. */
  constructor(deps: { readonly time: CaseTime; readonly settings: NodeLifecycleSettings; readonly isAsked: boolean }) {
    this.#time = deps.time;
    this.#settings = deps.settings;
    this.#isAsked = deps.isAsked;
    this.site = new Site(deps.time);
  }

  /** Begins a term; `inherits`: with the budget that the former leader left in the Lease. */
  async lead(inherits: boolean): Promise<void> {
    const now = this.site.clock.now();
    const before = this.#memory;
    const budget = inherits && before ? encodeBudget(before, undefined, now) : undefined;
    await this.site.endTerm();
    const settings = this.#settings;
    this.#judge = this.site.loopOf(
      this.#watched(nodeLifecycle({ settings, inherited: () => decodeBudget(budget, now) })),
    );
    this.#hasBegun = false;
    if (!this.#isAsked) this.#begin(this.#judge);
    const recordOf = (board: string): BoardRecord | undefined => this.#memory?.boards.get(board);
    this.site.start(this.site.loopOf(podReadiness({ settings, recordOf })));
  }

  /** Somebody leads, now or already. */
  async begin(): Promise<void> {
    if (this.#judge === undefined) await this.lead(false);
  }

  /** A monitor pass now. */
  async pass(): Promise<void> {
    await this.begin();
    this.#mayPass = true;
    if (this.#judge && this.#hasBegun) this.#judge.wakeAll();
    else if (this.#judge) this.#begin(this.#judge);
    await this.site.settle();
    // If writes are refused it takes a moment, because they are tried several times.
    await this.site.clock.until(() => this.#memory?.pass === undefined, longestPass);
  }

  /** How the site stands. */
  snapshot(): Outcome {
    const { clock, api } = this.site;
    const now = clock.now();
    const memory = this.#memory;
    return {
      atMs: ms(now),
      zones: showZones(memory, now),
      nodes: showBoards(api.all(nodes), memory, this.#time),
      pods: showPods(api.all(pods)),
    };
  }

  report(): Outcome {
    const { writes, taints, podsNotReady, events } = this.site.journal;
    return { zoneChanges: this.#zoneChanges, taints, writes, podsNotReady, events };
  }

  #begin(judge: ControlLoop<SiteState, SiteMemory>): void {
    this.#hasBegun = true;
    this.site.start(judge);
  }

  get #memory(): SiteMemory | undefined {
    return this.#judge?.memoryOf(siteKey);
  }

  /** The real controller, except that it is notified when its monitor period is over, and observed after each pass. */
  #watched(inner: Controller<SiteState, SiteMemory>): Controller<SiteState, SiteMemory> {
    const noted = (decision: Decision<SiteMemory>): Decision<SiteMemory> => {
      if (decision.memory.pass === undefined) this.#note(decision.memory);
      return decision;
    };
    return {
      ...inner,
      observe: (key, view, memory) => {
        const monitorAt = this.#mayPass ? view.now : never;
        this.#mayPass = false;
        return inner.observe(key, view, this.#paced(memory, monitorAt));
      },
      decide: (state, memory, now) => noted(inner.decide(state, this.#paced(memory, never), now)),
      decideAfterWrites: (decision, outcomes, now) =>
        noted(inner.decideAfterWrites?.(decision, outcomes, now) ?? decision),
    };
  }

  #paced(memory: SiteMemory, monitorAt: Instant): SiteMemory {
    return this.#isAsked && memory.monitorAt !== undefined ? { ...memory, monitorAt } : memory;
  }

  #note({ zones }: SiteMemory): void {
    for (const [key, { state, queue }] of zones) {
      const zone = zoneLabel(key);
      const last = this.#zoneChanges.findLast((change) => change.zone === zone);
      const change = { atMs: ms(this.site.clock.now()), zone, state: stateNames[state], qps: queue.rate };
      if (last?.state !== change.state || last.qps !== change.qps) this.#zoneChanges.push(change);
    }
  }
}
