import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { Status } from "../../status/schema.ts";
import type { FleetEvent, FleetEventSeverity } from "./fleet-events.ts";
import { outageStatus } from "./status-document.ts";

/**
 * Minimum interval between two events about one fact. If the fact changes within the interval, its value at the end of
 * the interval is reported.
 */
const quiet: Millis = 60_000;
/** Maximum number of remembered facts. */
const maxKeys = 500;

/** A part of the status whose changes are events. */
interface Fact {
  readonly key: string;
  readonly value: string;
  /**
   * The event for a change of the fact; undefined if the change needs none. `before`: the value last reported;
   * undefined if there was none.
   */
  readonly eventOf: (before: string | undefined) => FleetEvent | undefined;
  /** The event for the end of the fact; absent if the end is not reported. */
  readonly cleared?: FleetEvent;
  /**
   * The event when this board no longer knows whether the fact still holds; absent if it always knows. Such a fact ends
   * only when this board leads the site again and finds that the fact no longer holds.
   */
  readonly unknown?: FleetEvent;
}

/** Derives events from changes between two statuses: conditions, zones, leadership. */
export class StatusEvents {
  /** The facts as last reported, and when; `at` is undefined for those of the first status. */
  readonly #reported = new Map<
    string,
    { readonly value: string; readonly at: Instant | undefined; readonly fact: Fact }
  >();
  #isFirst = true;

  /** The events for all changes since the last call. */
  changes(status: Status, now: Instant): readonly FleetEvent[] {
    const facts = new Map(factsOf(status).map((fact) => [fact.key, fact]));
    const isJudge = judgesSite(status);
    for (const [key, { fact }] of this.#reported) {
      if (!facts.has(key)) facts.set(key, fact.unknown && !isJudge ? lostSight(fact) : gone(fact));
    }
    const found = [...facts.values()].flatMap((fact) => this.#changeOf(fact, now));
    this.#isFirst = false;
    return found;
  }

  #changeOf(fact: Fact, now: Instant): readonly FleetEvent[] {
    const { key, value, eventOf } = fact;
    const last = this.#reported.get(key);
    if (last?.value === value) return [];
    if (last?.at !== undefined && elapsed(last.at, now) < quiet) return [];
    // A fact that cannot be remembered would be reported on every call, so it is postponed until there is room.
    if (!last && this.#reported.size >= maxKeys) return [];
    if (value === "" && last) this.#reported.delete(key);
    else this.#reported.set(key, { value, at: this.#isFirst ? undefined : now, fact });
    const event = eventOf(last?.value);
    return event ? [event] : [];
  }
}

/** A placeholder for a fact that is no longer in the status. */
const gone = ({ key, cleared }: Fact): Fact => ({ key, value: "", eventOf: () => cleared });

/** A placeholder for a fact of the site on a board that does not lead. */
const lostSight = (fact: Fact): Fact => ({ ...fact, value: "unknown", eventOf: () => fact.unknown });

/**
 * Whether this board leads and has judged the site in this term. Before that, the site's conditions are missing from
 * the status although they may still hold.
 */
const judgesSite = ({ leader, controllers = [], judgement }: Status): boolean =>
  leader?.role === "leader" &&
  controllers.length > 0 &&
  (judgement?.ageMs !== undefined || controllers.every(({ name }) => name !== "node-lifecycle"));

function factsOf({ health, leader, link, eviction, zones = [] }: Status): Fact[] {
  const conditions = health.conditions.map(({ type, subject, severity, message, isOfSite }): Fact => {
    const about = { ...(subject !== undefined && { subject }), detail: { condition: type, message } };
    return {
      key: `condition ${type} ${subject ?? ""}`,
      value: severity,
      eventOf: () => ({ type: "condition.raised", severity, ...about }),
      cleared: { type: "condition.cleared", severity: "info", ...about },
      ...(isOfSite && { unknown: { type: "condition.unknown", severity: "info", ...about } }),
    };
  });
  const states = zones.map(
    ({ name, state, nodes, ready }): Fact => ({
      key: `zone ${name}`,
      value: state,
      // The first state of a zone is reported only if it is a disruption.
      eventOf: (before) =>
        before === undefined && calm.has(state)
          ? undefined
          : {
              type: "zone.state",
              severity: severityOf(state),
              subject: name,
              detail: { state, before, nodes, ready },
              isOfSite: true,
            },
    }),
  );
  const role: Fact = {
    key: "role",
    value: leader?.role ?? "standby",
    eventOf: (before) => {
      if (before === undefined && leader?.role !== "leader") return undefined;
      const { term, holder } = leader ?? {};
      if (leader?.role === "leader")
        return { type: "leader.acquired", severity: "info", detail: { term }, isOfSite: true };
      return { type: "leader.lost", severity: "warning", detail: { term, holder } };
    },
  };
  return [role, ...conditions, ...states, ...outageOf(link?.api.lastOutage, eviction)];
}

/**
 * The last outage, once it no longer holds evictions, because the numbers of held boards and pods are final only then.
 */
function outageOf(
  outage: NonNullable<Status["link"]>["api"]["lastOutage"],
  eviction: Status["eviction"],
): readonly Fact[] {
  if (outage === undefined || eviction?.held !== undefined) return [];
  const detail = { ...outageStatus(outage), from: outage.from, to: outage.to };
  const eventOf = () => ({ type: "api.outage", severity: "info", detail }) as const;
  return [{ key: "outage", value: String(outage.number), eventOf }];
}

const calm: ReadonlySet<string> = new Set(["Initial", "Normal"]);

const severityOf = (state: string): FleetEventSeverity =>
  calm.has(state) ? "info" : state === "FullDisruption" ? "critical" : "warning";
