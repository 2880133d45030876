import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import { aclHint, sizeHint } from "./broker-hints.ts";
import { type Cause, presence, type Session, stampOf } from "./documents.ts";
import { type Link, LinkError, PublishError } from "./link.ts";
import type { LinkProblems } from "./link-problems.ts";
import type { OutboxPublisher } from "./outbox-publisher.ts";
import type { Reports } from "./reports.ts";
import type { SiteCommandGate } from "./site-command-gate.ts";
import { SiteSubscription } from "./site-subscription.ts";
import { boardTopic, filtersOf, type Identity } from "./topics.ts";

export interface SessionParts {
  readonly identity: Identity;
  readonly session: Session;
  readonly link: Link;
  readonly drain: OutboxPublisher;
  readonly reports: Reports;
  readonly clockState: () => ClockState;
  readonly standing: SiteControls["standing"];
  readonly ear: SiteCommandGate;
  readonly troubles: LinkProblems;
  /** Called once presence is published and subscriptions stand: the link is usable. */
  readonly ready: () => void;
}

const look: Millis = 1000;
/** Time limit for the goodbye and again for closing: the shutdown never waits longer for a silent broker. */
const farewell: Millis = 1500;

/**
 * Runs one connection from its CONNACK to its end: presence, subscriptions, then pending messages. Returns why it
 * ended; throws if our own storage fails. When `stop` aborts it ends within twice the farewell.
 */
export async function live(ambient: Ambient, parts: SessionParts, stop: AbortSignal): Promise<LinkError> {
  const { link, identity } = parts;
  const tasks = new TaskGroup();
  let parting: Promise<void> | undefined;
  const part = (): void => {
    tasks.stop();
    // Started at once: pending acknowledgements are rejected by the end of the connection that it brings about.
    parting = leave(ambient, parts, stop);
  };
  void link.ended.then((error) => tasks.stop(error));
  if (stop.aborted) part();
  else {
    stop.addEventListener("abort", part, { once: true });
    tasks.start("greeting", (signal) => greet(ambient, parts, tasks, signal));
  }
  try {
    await tasks.join();
  } catch (thrown) {
    // The task group wraps errors; the cause decides.
    const error = thrown instanceof Error && thrown.cause instanceof PublishError ? thrown.cause : thrown;
    link.abandon(endFor(error, identity));
    if (!(error instanceof PublishError)) throw error;
  } finally {
    stop.removeEventListener("abort", part);
    await parting;
  }
  return await link.ended;
}

/** For errors of the link itself this has no effect: the link has ended with a better error. */
function endFor(error: unknown, identity: Identity): LinkError {
  if (!(error instanceof PublishError)) return new LinkError("stopped", "this board cannot go on", { cause: error });
  switch (error.kind) {
    case "lost":
      return new LinkError("lost", error.message);
    case "oversize":
      return new LinkError("refused", error.message, { hint: sizeHint });
    case "refused":
      return new LinkError("refused", error.message, { hint: aclHint(identity) });
    default:
      return error.kind satisfies never;
  }
}

/** Publishes presence and subscribes; then starts the outbox and the reports. */
async function greet(ambient: Ambient, parts: SessionParts, tasks: TaskGroup, signal: AbortSignal): Promise<void> {
  const { link, drain, reports, session, ready } = parts;
  const { clock } = ambient;
  await link.publish(upMessage(parts, "online", "connect", clock.now()));
  if (signal.aborted) return;
  await subscribe(parts, clock.now());
  if (signal.aborted) return;
  ready();
  reports.begin(session.number, link.sessionPresent);
  tasks.start("drain", (inner) => drain.run(link, inner));
  tasks.start("reports", (inner) => report(ambient, parts, inner));
}

async function subscribe({ identity, link, standing, ear }: SessionParts, now: Instant): Promise<void> {
  const { commands, desired, broadcast, site } = filtersOf(identity);
  await link.subscribe([
    { filter: commands, retained: false },
    { filter: broadcast, retained: false },
    // The newest document is retained and comes again; versions already applied are ignored.
    { filter: desired, retained: true },
  ]);
  if (link.sessionPresent && !ear.wants(standing(), now)) await link.unsubscribe(site);
}

/** Queues due documents every second and follows the election: only the leader subscribes to the site's commands. */
async function report({ clock }: Ambient, parts: SessionParts, signal: AbortSignal): Promise<void> {
  const { drain, reports } = parts;
  const site = new SiteSubscription(parts);
  while (!signal.aborted) {
    reports.look(clock.now());
    drain.ring();
    await site.follow(clock.now());
    await sleep(clock, look, signal);
  }
}

/** A clean DISCONNECT discards the will, so the board publishes its own goodbye. Never fails. */
async function leave(ambient: Ambient, parts: SessionParts, stop: AbortSignal): Promise<void> {
  const { link, drain, reports } = parts;
  const now = ambient.clock.now();
  const cause: Cause = stop.reason instanceof Reconnect ? "reload" : "stop";
  const goodbyes = [...drain.unwritten(), reports.resignation(now), upMessage(parts, "offline", cause, now)];
  const said = Promise.allSettled([
    // Site commands are for the next leader: the broker must not queue them for this board.
    cause === "stop" ? link.unsubscribe(filtersOf(parts.identity).site) : undefined,
    ...goodbyes.map((message) => message && link.publish(message)),
  ]);
  const late = new AbortController();
  await Promise.race([said, sleep(ambient.clock, farewell, late.signal)]);
  late.abort();
  await link.close(farewell);
}

/** Abort reason: reconnect with other credentials. */
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
