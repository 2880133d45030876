import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Status } from "../status/schema.ts";
import type { FleetEvent, Severity } from "./fleet-events.ts";
import { outageStatus } from "./status-document.ts";

/** Minimum interval between events about one fact; a flapping fact is then reported in its current state. */
const quiet: Millis = 60_000;
const mostKeys = 500;

interface Fact {
  readonly key: string;
  readonly value: string;
  /** The event for a change; `before` is the value last reported, or undefined. */
  readonly happening: (before: string | undefined) => FleetEvent | undefined;
}

/** Derives events from changes between two statuses: conditions, zones, leadership. */
export class StatusEvents {
  readonly #told = new Map<string, { readonly value: string; readonly at: Instant | undefined; readonly fact: Fact }>();
  #isFirst = true;

  look(status: Status, now: Instant): readonly FleetEvent[] {
    const facts = new Map(factsOf(status).map((fact) => [fact.key, fact]));
    for (const [key, { fact }] of this.#told) if (!facts.has(key)) facts.set(key, gone(fact));
    const found = [...facts.values()].flatMap((fact) => this.#tell(fact, now));
    this.#isFirst = false;
    return found;
  }

  #tell(fact: Fact, now: Instant): readonly FleetEvent[] {
    const { key, value, happening } = fact;
    const last = this.#told.get(key);
    if (last?.value === value) return [];
    if (last?.at !== undefined && elapsed(last.at, now) < quiet) return [];
    // A fact that does not fit would be reported on every call; it waits for room.
    if (!last && this.#told.size >= mostKeys) return [];
    if (value === "" && last) this.#told.delete(key);
    else this.#told.set(key, { value, at: this.#isFirst ? undefined : now, fact });
    const event = happening(last?.value);
    return event ? [event] : [];
  }
}

/** The fact is no longer in the status. */
const gone = ({ key, happening }: Fact): Fact => ({
  key,
  value: "",
  happening: (before) => {
    const event = happening(before);
    if (!event?.type.startsWith("condition.")) return undefined;
    const { subject, detail } = event;
    return { type: "condition.cleared", severity: "info", ...(subject !== undefined && { subject }), detail };
  },
});

function factsOf({ health, leader, link, eviction, zones = [] }: Status): Fact[] {
  const conditions = health.conditions.map(({ type, subject, severity, message }): Fact => {
    const about = subject === undefined ? {} : { subject };
    return {
      key: `condition ${type} ${subject ?? ""}`,
      value: severity,
      happening: () => ({ type: "condition.raised", severity, ...about, detail: { condition: type, message } }),
    };
  });
  const states = zones.map(
    ({ name, state, nodes, ready }): Fact => ({
      key: `zone ${name}`,
      value: state,
      // A zone's first state is reported only if it is bad.
      happening: (before) =>
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
    happening: (before) => {
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
 * Reported once the hold has ended, when its extent is known: a leader holds silent boards for a while after an outage.
 */
function outageOf(
  outage: NonNullable<Status["link"]>["api"]["lastOutage"],
  eviction: Status["eviction"],
): readonly Fact[] {
  if (outage === undefined || eviction?.held !== undefined) return [];
  const detail = { ...outageStatus(outage), from: outage.from, to: outage.to };
  const happening = () => ({ type: "api.outage", severity: "info", detail }) as const;
  return [{ key: "outage", value: String(outage.number), happening }];
}

const calm: ReadonlySet<string> = new Set(["Initial", "Normal"]);

const severityOf = (state: string): Severity =>
  calm.has(state) ? "info" : state === "FullDisruption" ? "critical" : "warning";
