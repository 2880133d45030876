import type { Millis } from "../../../../agent/base/clock.ts";
import type { Listening, ProcessHistory } from "../history.ts";
import { judging } from "../site-config.ts";

/** The time between two outages; `until` is the moment at which the next one began. */
export interface RespiteSeen {
  readonly from: Millis;
  readonly until: Millis;
}

export interface Outage {
  readonly from: Millis;
  readonly until: Millis;
}

interface LiveTime {
  readonly from: Millis;
  readonly until: Millis;
  /** Start of the silence, if silence ended the connection. */
  readonly silentSince: Millis | undefined;
}

/**
 * The times at which a process received data from the site, according to its connections rather than its own view of
 * them.
 */
export class Hearing {
  readonly #history: ProcessHistory;
  readonly #live: Readonly<Record<"nodes" | "leases", readonly LiveTime[]>>;
  /** The interruptions of either watch that were longer than a blip, in the order of their ends. */
  readonly #outages: readonly Outage[];

  constructor(history: ProcessHistory, end: Millis) {
    this.#history = history;
    this.#live = { nodes: liveTimes(history, "nodes", end), leases: liveTimes(history, "leases", end) };
    this.#outages = [...outagesOf(this.#live.nodes), ...outagesOf(this.#live.leases)].sort((a, b) => a.until - b.until);
  }

  /** Whether both watches were live at some moment of that period. */
  wasLiveWithin(from: Millis, until: Millis): boolean {
    return this.#live.nodes.some((nodes) =>
      this.#live.leases.some(
        (leases) => Math.max(nodes.from, leases.from, from) <= Math.min(nodes.until, leases.until, until),
      ),
    );
  }

  /** End of the last interruption of either watch that was longer than a blip. */
  restoredBefore(time: Millis): Millis | undefined {
    return this.#outages.findLast(({ until }) => until <= time)?.until;
  }

  /** The times between outages, these of the API included, that began before that time, the one at that time excluded. */
  respitesBefore(time: Millis, api: readonly Outage[]): readonly RespiteSeen[] {
    const outages = [...this.#outages, ...api];
    // Both watches often resume at the same moment.
    const ends = new Set(outages.map(({ until }) => until).filter((end) => end < time));
    return [...ends].map((from) => ({
      from,
      until: Math.min(time, ...outages.filter(({ until }) => until > from).map((outage) => outage.from)),
    }));
  }

  /** When the process last received data of that watch; 0 if never. */
  lastNews(resource: Listening["resource"], before: Millis): Millis {
    const times = this.#history.listening.flatMap((watch) =>
      watch.resource === resource ? watch.pieces.map(({ at }) => at).filter((at) => at <= before) : [],
    );
    return Math.max(0, ...times);
  }

  /** Whether an event about that board reached the process. */
  heardOf(board: string, from: Millis, until: Millis): boolean {
    const names = new RegExp(`"name":"${board}"`);
    return this.#history.listening.some(
      ({ resource, pieces }) =>
        resource !== "pods" && pieces.some(({ at, text }) => at >= from && at <= until && names.test(text)),
    );
  }
}

function liveTimes({ listening }: ProcessHistory, resource: Listening["resource"], end: Millis): readonly LiveTime[] {
  const times: LiveTime[] = [];
  for (const watch of listening) {
    if (watch.resource !== resource) continue;
    const over = watch.until ?? end;
    const moments = [watch.from, ...watch.pieces.map(({ at }) => at)];
    for (const [index, at] of moments.entries()) {
      const next = Math.min(moments[index + 1] ?? over, over);
      const stalled = at + judging.stall < next;
      times.push({ from: at, until: stalled ? at + judging.stall : next, silentSince: stalled ? at : undefined });
    }
  }
  return times.sort((a, b) => a.from - b.from);
}

function outagesOf(times: readonly LiveTime[]): readonly Outage[] {
  const outages: Outage[] = [];
  for (const [index, { until, silentSince }] of times.entries()) {
    const next = times[index + 1];
    if (next !== undefined && next.from - (silentSince ?? until) > judging.blip && next.from > until)
      outages.push({ from: until, until: next.from });
  }
  return outages;
}
