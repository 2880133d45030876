import type { Instant, Millis } from "../../../agent/base/clock.ts";
import { isRecord } from "../../../agent/base/json.ts";
import { readTime } from "../../../agent/base/time/iso-time.ts";
import { type Form, number, optional, text } from "../form.ts";
import { MalformedCase } from "../malformed.ts";

const standard = "2026-01-01T00:00:00Z";

/**
 * Three hundred years: the largest error of a board's clock, and the largest distance of a timestamp from the case's
 * own time.
 */
const farthest = 1e13;

export const remoteTime = (about: string): Form<number> => number({ about, min: -farthest, max: farthest });

export const startTime = optional(
  text({
    about:
      "The wall clock at 0 ms, in RFC 3339. Only timestamps inside of objects depend on it; nothing is judged by them. " +
      `Default ${standard}.`,
    examples: [standard],
  }),
);

/** Converts between the times of a case, in milliseconds since its start, and the timestamps of objects. */
export class CaseTime {
  readonly begin: Instant;

  /** `mono`: what the monotonic clock shows at the start. */
  constructor(start = standard, mono = 0) {
    const wall = readTime(start);
    const year = wall === undefined ? Number.NaN : new Date(wall).getUTCFullYear();
    if (wall === undefined || !(year >= 1000 && year <= 9000))
      throw new MalformedCase([`case.config.startTime takes a time such as ${standard}`]);
    this.begin = { mono, wall };
  }

  /** In the form of objects' timestamps: without a fraction if there is none. */
  stamp(ms: Millis): string {
    return new Date(this.begin.wall + ms - this.begin.mono).toISOString().replace(".000Z", "Z");
  }

  /** `undefined`: it is no timestamp. */
  msOf(stamp: unknown): Millis | undefined {
    const wall = typeof stamp === "string" ? Date.parse(stamp) : Number.NaN;
    return Number.isNaN(wall) ? undefined : wall - this.begin.wall;
  }
}

/** Times in outcomes are whole milliseconds: the fraction of a token's due time has no meaning. */
export const ms = ({ mono }: Instant): Millis => Math.round(mono);

/** A whole Kubernetes object, instead of the short form. */
export const isWhole = (value: unknown): boolean => isRecord(value) && isRecord(value.metadata);
