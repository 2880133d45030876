import { type Instant, isAfter, type Millis, shifted } from "../../base/clock.ts";
import { emptyBucket } from "../../base/token-bucket.ts";
import type { PaidTurn, ZoneRecord } from "./memory.ts";
import { dequeue, firstEligible, nextTurnAt, requeue, takeTurn } from "./zones/eviction-queue.ts";

/** How often the cache is checked for a newer version of the Node of a paid turn. */
const paidPause: Millis = 100;

/** Which boards may have a turn, and the newest known version of their Nodes. */
export interface Candidates {
  may(name: string): boolean;
  /** The newest known resourceVersion of the board's Node; undefined if the Node no longer exists. */
  version(name: string): string | undefined;
}

/** The boards whose turn it is now: those with a paid turn, and at most one more if there is a token. */
export function takeTurns(
  before: ZoneRecord,
  candidates: Candidates,
  now: Instant,
): { readonly zone: ZoneRecord; readonly names: readonly string[] } {
  const zone = withoutEnded(before, candidates, now);
  const repeated = [...zone.paid]
    .filter(([name, { version }]) => candidates.version(name) !== version)
    .map(([name]) => name);
  const { queue, entry } = takeTurn(zone.queue, (name) => candidates.may(name) && !zone.paid.has(name), now);
  return { zone: { ...zone, queue }, names: entry ? [...repeated, entry.name] : repeated };
}

/**
 * Ends paid turns that expired, and those of boards that cannot have a turn now, even if only for a moment: their next
 * turn costs a token again.
 */
function withoutEnded(zone: ZoneRecord, { may }: Candidates, now: Instant): ZoneRecord {
  let { queue, paid } = zone;
  for (const [name, { until }] of zone.paid) {
    if (queue.waiting.has(name) && may(name) && until.mono > now.mono) continue;
    queue = requeue(queue, name, now);
    paid = without(paid, name);
  }
  return paid === zone.paid ? zone : { ...zone, queue, paid };
}

/** The boards that a pass between two monitor passes reads. */
export function nextInTurn({ queue, paid }: ZoneRecord, may: (name: string) => boolean): readonly string[] {
  const entry = firstEligible(queue, (name) => may(name) && !paid.has(name));
  return entry ? [...paid.keys(), entry.name] : [...paid.keys()];
}

/** When a zone needs a pass again; undefined if not before the next monitor pass. */
export function nextPassAt(
  { queue, paid }: ZoneRecord,
  may: (name: string) => boolean,
  now: Instant,
): Instant | undefined {
  const token = nextTurnAt(queue, (name) => may(name) && !paid.has(name), now);
  const soon = paid.size > 0 ? shifted(now, paidPause) : undefined;
  return token === undefined || (soon !== undefined && soon.mono < token.mono) ? soon : token;
}

/**
 * The zone with its token spent at `at`, when the write has finished, not when it was decided, because otherwise, after
 * a write that a slow link delayed for 10 s, the next one would follow immediately.
 */
export const spentAt = (zone: ZoneRecord, at: Instant): ZoneRecord =>
  isAfter(zone.queue.bucket.at, at) ? zone : { ...zone, queue: { ...zone.queue, bucket: emptyBucket(at) } };

/** The zone after a completed turn: the board got its taint, or no longer needs one. */
export const withTurnEnded = (zone: ZoneRecord, name: string): ZoneRecord => ({
  ...zone,
  queue: dequeue(zone.queue, name),
  paid: without(zone.paid, name),
});

/** The zone after a turn whose write failed: the token is lost, and the board waits again. */
export const withTurnFailed = (zone: ZoneRecord, name: string, now: Instant): ZoneRecord => ({
  ...zone,
  queue: requeue(zone.queue, name, now),
  paid: without(zone.paid, name),
});

/** The zone after a turn whose write met a conflict: it is repeated without another token. */
export const withPaidTurn = (zone: ZoneRecord, name: string, turn: PaidTurn): ZoneRecord => ({
  ...zone,
  paid: new Map([...zone.paid, [name, { version: turn.version, until: zone.paid.get(name)?.until ?? turn.until }]]),
});

function without<T>(map: ReadonlyMap<string, T>, name: string): ReadonlyMap<string, T> {
  if (!map.has(name)) return map;
  const rest = new Map(map);
  rest.delete(name);
  return rest;
}
