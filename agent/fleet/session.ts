import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import type { ClockState } from "../board/clock-sync.ts";
import { type Cause, presence, type Session, stampOf } from "./documents.ts";
import type { Drain } from "./drain.ts";
import { type Link, LinkError, PublishError } from "./link.ts";
import type { Reports } from "./reports.ts";
import { boardTopic, filtersOf, type Identity } from "./topics.ts";

export interface SessionParts {
  readonly identity: Identity;
  readonly session: Session;
  readonly link: Link;
  readonly drain: Drain;
  readonly reports: Reports;
  readonly clockState: () => ClockState;
  readonly isLeader: () => boolean;
}

const look: Millis = 1000;
const farewell: Millis = 1500;

/**
 * One connection from its CONNACK to its end: presence first, then our subscriptions, then what waits. Answers why it ended;
 * throws where our own storage fails.
 */
export async function live(ambient: Ambient, parts: SessionParts, stop: AbortSignal): Promise<LinkError> {
  const { link, drain, reports, session, identity } = parts;
  const { clock } = ambient;
  let end: LinkError | undefined;
  const tasks = new TaskGroup();
  void link.ended.then((error) => {
    end = error;
    tasks.stop();
  });
  const goodbye = (): void => tasks.stop();
  stop.addEventListener("abort", goodbye, { once: true });
  if (stop.aborted) goodbye();
  try {
    await link.publish(upMessage(parts, "online", "connect", clock.now()));
    await subscribe(parts);
    reports.begin(session.number, link.sessionPresent);
    tasks.start("drain", (signal) => drain.run(link, signal));
    tasks.start("reports", (signal) => report(ambient, parts, signal));
    await tasks.join();
    if (end === undefined) await leave(ambient, parts, stop);
  } catch (thrown) {
    // A task group names the task; what it failed with decides.
    const error = thrown instanceof Error && thrown.cause instanceof PublishError ? thrown.cause : thrown;
    // Where the link is at fault, its end says it better.
    if (!(error instanceof PublishError)) {
      link.abandon(new LinkError("stopped", "this board cannot go on", { cause: error }));
      await link.ended;
      throw error;
    }
    if (error.kind === "lost") await link.ended;
    else link.abandon(new LinkError("refused", error.message, { hint: aclHint(identity) }));
  } finally {
    stop.removeEventListener("abort", goodbye);
    tasks.stop();
    await tasks.join().catch(() => {});
  }
  return await link.ended;
}

const aclHint = ({ fleet, site, board }: Identity): string =>
  `Give ${fleet}/${site}/${board} the lines that siteward broker-acl prints.`;

async function subscribe({ identity, link, isLeader }: SessionParts): Promise<void> {
  const { commands, desired, broadcast, site } = filtersOf(identity);
  await link.subscribe([
    { filter: commands, retained: false },
    { filter: broadcast, retained: false },
    // The newest one is sent again: what was applied meanwhile is known by its number.
    { filter: desired, retained: true },
  ]);
  if (!isLeader() && link.sessionPresent) await link.unsubscribe(site);
}

/** Puts what is due among the states, and follows the election: only the leader takes the site's commands. */
async function report(ambient: Ambient, parts: SessionParts, signal: AbortSignal): Promise<void> {
  const { clock } = ambient;
  const { drain, reports, link, isLeader, identity } = parts;
  const { site } = filtersOf(identity);
  let listens = false;
  while (!signal.aborted) {
    reports.look(clock.now());
    drain.ring();
    const leads = isLeader();
    if (leads !== listens) {
      await (leads ? link.subscribe([{ filter: site, retained: false }]) : link.unsubscribe(site));
      listens = leads;
    }
    await sleep(clock, look, signal);
  }
}

/** A clean DISCONNECT discards the will, so the board says itself that it goes. Never fails. */
async function leave(ambient: Ambient, parts: SessionParts, stop: AbortSignal): Promise<void> {
  const { link, reports } = parts;
  const now = ambient.clock.now();
  const cause: Cause = stop.reason instanceof Reconnect ? "reload" : "stop";
  const goodbyes = [reports.resignation(now), upMessage(parts, "offline", cause, now)];
  const said = Promise.allSettled([
    // Commands of the site are for the next leader: the broker must not keep them for this board.
    cause === "stop" ? link.unsubscribe(filtersOf(parts.identity).site) : undefined,
    ...goodbyes.map((message) => message && link.publish(message)),
  ]);
  const late = new AbortController();
  await Promise.race([said, sleep(ambient.clock, farewell, late.signal)]);
  late.abort();
  await link.close(farewell);
}

/** The connection is begun anew, with other files. */
export class Reconnect extends Error {
  override readonly name = "Reconnect";
}

function upMessage(
  { identity, session, clockState }: SessionParts,
  state: "online" | "offline",
  cause: Cause,
  now: Instant,
) {
  const payload = presence(state, session, cause, stampOf(now, clockState()));
  return { topic: boardTopic(identity, "up"), payload, retain: true };
}
