import type { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { ClockState } from "../board/clock-sync.ts";
import { eventDocument, severities, stampOf, timeToLive } from "./documents.ts";
import type { FleetEvent, FleetEventSink } from "./fleet-events.ts";
import type { Identity } from "./topics.ts";

export interface EventParts {
  readonly identity: Identity;
  readonly outbox: Outbox;
  readonly bootId: string;
  readonly clockState: () => ClockState;
  /** Called after an event was added to the outbox. */
  readonly added: () => void;
}

interface Noted {
  readonly event: FleetEvent;
  readonly at: Instant;
  readonly clock: ClockState;
}

/** Bound on events kept in memory while the disk takes none: a full disk is itself worth an event. */
const mostWaiting = 64;
const writeAgain: Millis = 10_000;

/** Numbers events and puts them into the outbox. Callers never wait for the disk. */
export class FleetEvents implements FleetEventSink {
  readonly #ambient: Ambient;
  readonly #parts: EventParts;
  readonly #waiting: Noted[] = [];
  #unwritable: Instant | undefined;

  constructor(ambient: Ambient, parts: EventParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  note(event: FleetEvent): void {
    this.#waiting.push({ event, at: this.#ambient.clock.now(), clock: this.#parts.clockState() });
    this.retry();
    if (this.#waiting.length > mostWaiting) this.#drop();
  }

  /** Writes pending events in order. */
  retry(): void {
    const now = this.#ambient.clock.now();
    if (this.#unwritable && elapsed(this.#unwritable, now) < writeAgain) return;
    const { outbox, bootId, added } = this.#parts;
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      const noted = next;
      try {
        outbox.event((seq) => this.#letter(noted, seq), { boot: bootId, mono: noted.at.mono });
      } catch (error) {
        if (!this.#unwritable) this.#ambient.log.warn("events for the fleet cannot be written down", { error });
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

  /** Reports dropped messages as one event, as soon as there is room for it. */
  readonly tellDropped = (): void => {
    const { outbox, bootId, clockState } = this.#parts;
    const at = this.#ambient.clock.now();
    outbox.tellDropped(
      ({ count, from, to }, seq) => {
        const detail = { count, from, to };
        const event: FleetEvent = { type: "outbox.dropped", severity: "warning", detail };
        return this.#letter({ event, at, clock: clockState() }, seq);
      },
      { boot: bootId, mono: at.mono },
    );
  };

  #letter({ event, at, clock }: Noted, seq: number) {
    const { identity, bootId } = this.#parts;
    return {
      ...eventDocument(identity, event, { seq, bootId, stamp: stampOf(at, clock) }),
      retain: false,
      properties: "{}",
      rank: severities.indexOf(event.severity),
      ttl: event.severity === "critical" ? timeToLive.criticalEvent : timeToLive.event,
    };
  }
}
