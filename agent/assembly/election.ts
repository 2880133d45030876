import type { Ambient } from "../base/ambient.ts";
import { budgetAnnotation } from "../controllers/node-lifecycle/zones/budget-annotation.ts";
import { type LeaderCallbacks, LeaderElector } from "../election/leader-elector.ts";
import { LeaseLock } from "../election/lease-lock.ts";
import type { EventRecorder } from "../execution/event-recorder.ts";
import { type EndedHold, HoldBook } from "../holds/hold-book.ts";
import { holdsAnnotation } from "../holds/holds.ts";
import { valveAnnotation } from "../holds/valve.ts";
import { ValveBook } from "../holds/valve-book.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import type { Fitness } from "../leading/fitness.ts";
import type { TermWork } from "../leading/term-work.ts";
import { CounterBook } from "../site/counter-book.ts";
import { countersAnnotation } from "../site/site-counters.ts";
import { siteAnnotations, siteLabels } from "../site/site-lease.ts";
import type { Edges } from "./edges.ts";
import type { Seat } from "./seat.ts";
import type { SiteConnection } from "./site-connection.ts";

/** The elector, and the records that the Lease carries from leader to leader. */
export interface Election {
  readonly elector: LeaderElector;
  readonly holds: HoldBook;
  readonly counters: CounterBook;
  /** Undefined under policy `kubernetes`, which has no safety valve. */
  readonly valve: ValveBook | undefined;
}

export interface ElectionDeps {
  readonly seat: Seat;
  readonly current: CurrentTerm;
  readonly fitness: Fitness;
  readonly api: SiteConnection;
  readonly events: EventRecorder;
}

export function electionOf(ambient: Ambient, edges: Edges, deps: ElectionDeps): Election {
  const { config } = edges;
  const { seat, current, fitness, events } = deps;
  const elector = electorOf(ambient, edges, deps);
  const publish = (): Promise<void> => elector.renewNow();
  const holds = new HoldBook(ambient, {
    memory: seat.holdMemory,
    renewal: config.leader.retry,
    recovery: config.judgement.recovery,
    quietHoursAt: (now) => fitness.quietHoursAt(now),
    publish,
    changed: (ordered) => current.holdsChanged(ordered),
    over: (ended) => {
      const { kind, subject, hold } = ended;
      ambient.log.info("hold ended", { kind, subject, by: hold.by });
      announceEnd(ended, { elector, current, events });
    },
  });
  const counters = new CounterBook(ambient, { facts: seat.memo, site: config.site.name, publish });
  const isLimited = config.judgement.policy === "evidence";
  const valve = isLimited ? valveOf(ambient, deps, { elector, publish }) : undefined;
  return { elector, holds, counters, valve };
}

function valveOf(
  ambient: Ambient,
  { seat, current, events }: ElectionDeps,
  { elector, publish }: { readonly elector: LeaderElector; readonly publish: () => Promise<void> },
): ValveBook {
  return new ValveBook(ambient, {
    memory: seat.valveMemory,
    publish,
    changed: (isHolding) => {
      if (isHolding) ambient.log.warn("the safety valve holds harmful acts", {});
      else ambient.log.info("the safety valve no longer holds harmful acts", {});
      const { lease: about } = elector;
      const { term } = current;
      if (about === undefined || term === undefined) return;
      const what = isHolding
        ? ({ severity: "Warning", reason: "SafetyValveShut", message: "The safety valve holds harmful acts" } as const)
        : ({
            severity: "Normal",
            reason: "SafetyValveOpen",
            message: "The safety valve no longer holds harmful acts",
          } as const);
      events.record({ do: "event", about, ...what }, term);
    },
  });
}

function electorOf(
  ambient: Ambient,
  { config, folder, bootId }: Edges,
  { seat, fitness, api, events }: ElectionDeps,
): LeaderElector {
  const { board, leader, site } = config;
  const { at, identity, leaderMemo } = seat;
  return new LeaderElector(ambient, {
    identity,
    board: board.node,
    timing: leader,
    blip: config.link.blip,
    formerIdentity: leaderMemo.formerIdentity(),
    formerTerm: leaderMemo.formerTerm(),
    formerRest: leaderMemo.formerRest(bootId, ambient.clock.now()),
    rememberRest: (rest) => leaderMemo.rememberRest(rest, bootId, ambient.clock.now()),
    shownTerm: () => leaderMemo.shownTerm,
    rememberTerm: (term) => leaderMemo.rememberTerm(term),
    termWentBack: () => leaderMemo.replaced(),
    followers: leader.followers,
    lock: new LeaseLock({
      client: api.leaseClient,
      at,
      labels: siteLabels(site.name),
      annotations: siteAnnotations(site),
      history: api.history,
    }),
    whyNotToStand: (leaderlessFor) => folder.obstacle() ?? fitness.whyNotToStand(leaderlessFor),
    standsAside: () => fitness.standsAside(),
    announce: (event, under) => events.record(event, under),
  });
}

/** The work of a term, and the annotations that each renewal writes on the Lease for the next leader. */
export const leaderCallbacks = ({ holds, counters, valve }: Election, work: TermWork): LeaderCallbacks => ({
  lead: (term, found) => work.lead(term, found),
  carried: {
    [budgetAnnotation]: () => work.budget(),
    [holdsAnnotation]: () => holds.carried(),
    [countersAnnotation]: () => counters.carried(),
    [valveAnnotation]: () => valve?.carried(),
  },
  onRead: ({ lease, annotations, written }) => {
    holds.saw(annotations[holdsAnnotation], { lease, written });
    counters.observe(annotations[countersAnnotation]);
    valve?.saw(annotations[valveAnnotation], { lease, written });
  },
});

function announceEnd(
  { kind, subject, hold: { by } }: EndedHold,
  { elector, current, events }: { elector: LeaderElector; current: CurrentTerm; events: EventRecorder },
): void {
  const { lease: about } = elector;
  const { term } = current;
  if (about === undefined || term === undefined) return;
  const message = `The ${kind} of ${subject}, ordered by ${by}, has expired`;
  events.record({ do: "event", about, severity: "Normal", reason: "HoldOver", message }, term);
}
