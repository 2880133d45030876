import type { Millis } from "../../agent/base/clock.ts";
import { parseDuration } from "../../agent/base/time/duration.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** "90s" or milliseconds. */
export type Span = Millis | string;

export function millis(span: Span): Millis {
  const duration = typeof span === "number" ? span : parseDuration(span);
  if (duration === undefined || !(duration >= 0)) throw new Error(`not a duration: ${span}`);
  return duration;
}

const begin: Millis = 1_000_000;

/** The clock on which replays run, with the times of the story. */
export class FakeClock extends VirtualClock {
  constructor(wall = "2026-01-01T00:00:00Z") {
    super({ mono: begin, wall: Date.parse(wall) });
  }

  setWall(wall: string): void {
    this.setWallTime(Date.parse(wall));
  }

  override advance(span: Span): Promise<void> {
    return super.advance(millis(span));
  }

  override until(holds: () => boolean, limit: Span): Promise<void> {
    return super.until(holds, millis(limit));
  }
}
