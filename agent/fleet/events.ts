import type { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import type { ClockState } from "../board/clock-sync.ts";
import { eventDocument, severities, stampOf, timeToLive } from "./documents.ts";
import type { Happening, Happenings } from "./happenings.ts";
import type { Identity } from "./topics.ts";

export interface EventParts {
  readonly identity: Identity;
  readonly outbox: Outbox;
  readonly bootId: string;
  readonly clockState: () => ClockState;
  /** Called when there is one more to send. */
  readonly added: () => void;
}

/** Puts what happened into the outbox, numbered. Who tells something is never held up by where it is kept. */
export class FleetEvents implements Happenings {
  readonly #ambient: Ambient;
  readonly #parts: EventParts;

  constructor(ambient: Ambient, parts: EventParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  note(event: Happening): void {
    const now = this.#ambient.clock.now();
    const { outbox, bootId, added } = this.#parts;
    try {
      outbox.event((seq) => this.#letter(event, seq), { boot: bootId, mono: now.mono });
      added();
    } catch (error) {
      this.#ambient.log.warn("an event for the fleet could not be kept", { type: event.type, error });
    }
  }

  /** What had to go to make room is told as one event, as soon as there is room for that. */
  readonly tellDropped = (): void => {
    const { outbox, bootId } = this.#parts;
    const at = { boot: bootId, mono: this.#ambient.clock.now().mono };
    outbox.tellDropped(({ count, from, to }, seq) => {
      const detail = { count, from, to };
      return this.#letter({ type: "outbox.dropped", severity: "warning", detail }, seq);
    }, at);
  };

  #letter(event: Happening, seq: number) {
    const { identity, bootId, clockState } = this.#parts;
    const stamp = stampOf(this.#ambient.clock.now(), clockState());
    return {
      ...eventDocument(identity, event, { seq, bootId, stamp }),
      retain: false,
      properties: "{}",
      rank: severities.indexOf(event.severity),
      ttl: event.severity === "critical" ? timeToLive.criticalEvent : timeToLive.event,
    };
  }
}
