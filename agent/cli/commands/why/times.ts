import type { Instant, Millis } from "../../../base/clock.ts";
import type { StoredMoment } from "../../../decisions/decision-record.ts";
import { thisMachine } from "../status/status-reader.ts";

/** Shows the times of records and of the status in local time, without the date if that is today's. */
export class Times {
  readonly #now: Instant;
  readonly #boot = thisMachine().bootId;

  constructor(now: Instant) {
    this.#now = now;
  }

  /**
   * The wall time of a moment. For a moment in this boot, it is computed from the moment's age, so it is right even if
   * the clock has been set since. For one in an earlier boot, it is what the clock showed then.
   */
  readonly when = ({ at, boot, mono }: StoredMoment): Millis =>
    boot === this.#boot ? this.#now.wall - (this.#now.mono - mono) : Date.parse(at);

  readonly moment = (moment: StoredMoment): string => this.#shown(new Date(this.when(moment)));

  /** A time of the status, in RFC 3339. */
  readonly status = (at: string): string => this.#shown(new Date(at));

  #shown(then: Date): string {
    if (Number.isNaN(then.getTime())) return "?";
    const clock = [then.getHours(), then.getMinutes(), then.getSeconds()].map(two).join(":");
    const date = dateText(then);
    return date === dateText(new Date(this.#now.wall)) ? clock : `${date} ${clock}`;
  }
}

const dateText = (time: Date): string =>
  [String(time.getFullYear()), two(time.getMonth() + 1), two(time.getDate())].join("-");

const two = (value: number): string => String(value).padStart(2, "0");
