import type { Outbox } from "../../../storage/outbox.ts";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { ClockState } from "../../board/clock-sync.ts";
import type { FleetIdentity } from "../mqtt/topics.ts";
import { eventDocument, severities, stampOf, timeToLive } from "./documents.ts";
import type { FleetEvent, FleetEventSink } from "./fleet-events.ts";

export interface FleetEventsDeps {
  readonly identity: FleetIdentity;
  readonly outbox: Outbox;
  readonly bootId: string;
  readonly clockState: () => ClockState;
  /** Called after an event was added to the outbox. */
  readonly added: () => void;
}

/** An event, and the moment when it was noted. */
interface Noted {
  readonly event: FleetEvent;
  readonly at: Instant;
  readonly clock: ClockState;
}

/** Maximum number of events that are kept in memory while the disk cannot be written. */
const maxWaiting = 64;
/** Interval between attempts while the disk cannot be written. */
const writeAgain: Millis = 10_000;

/** Numbers events and stores them in the outbox. If that fails, they are kept in memory and stored later. */
export class FleetEvents implements FleetEventSink {
  readonly #ambient: Ambient;
  readonly #deps: FleetEventsDeps;
  readonly #waiting: Noted[] = [];
  /** When a write last failed; undefined if the last one succeeded. */
  #unwritable: Instant | undefined;

  constructor(ambient: Ambient, deps: FleetEventsDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  note(event: FleetEvent): void {
    this.#waiting.push({ event, at: this.#ambient.clock.now(), clock: this.#deps.clockState() });
    this.retry();
    if (this.#waiting.length > maxWaiting) this.#drop();
  }

  /** Stores pending events in order, as long as the disk accepts them. */
  retry(): void {
    const now = this.#ambient.clock.now();
    if (this.#unwritable && elapsed(this.#unwritable, now) < writeAgain) return;
    const { outbox, bootId, added } = this.#deps;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const noted = next;
      try {
        outbox.event((seq) => this.#message(noted, seq), { boot: bootId, mono: noted.at.mono });
      } catch (error) {
        if (!this.#unwritable) this.#ambient.log.warn("events for the fleet cannot be stored", { error });
        this.#unwritable = now;
        return;
      }
      this.#waiting.shift();
      this.#unwritable = undefined;
      added();
    }
  }

  /** Drops the oldest event of the lowest severity. */
  #drop(): void {
    const ranks = this.#waiting.map(({ event }) => severities.indexOf(event.severity));
    const [dropped] = this.#waiting.splice(ranks.indexOf(Math.min(...ranks)), 1);
    this.#ambient.log.warn("an event for the fleet is lost", { type: dropped?.event.type });
  }

  /** Stores one event that reports all events dropped since the last report. Throws if it cannot be stored. */
  readonly reportDropped = (): void => {
    const { outbox, bootId, clockState } = this.#deps;
    const at = this.#ambient.clock.now();
    outbox.reportDropped(
      ({ count, from, to }, seq) => {
        const detail = { count, from, to };
        const event: FleetEvent = { type: "outbox.dropped", severity: "warning", detail };
        return this.#message({ event, at, clock: clockState() }, seq);
      },
      { boot: bootId, mono: at.mono },
    );
  };

  #message({ event, at, clock }: Noted, seq: number) {
    const { identity, bootId } = this.#deps;
    return {
      ...eventDocument(identity, event, { seq, bootId, stamp: stampOf(at, clock) }),
      retain: false,
      properties: "{}",
      rank: severities.indexOf(event.severity),
      ttl: event.severity === "critical" ? timeToLive.criticalEvent : timeToLive.event,
    };
  }
}
