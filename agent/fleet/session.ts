import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import { aclHint, sizeHint } from "./mqtt/broker-hints.ts";
import { type BrokerLink, LinkError, PublishError } from "./mqtt/link.ts";
import type { LinkProblems } from "./mqtt/link-problems.ts";
import { boardTopic, type FleetIdentity, filtersOf } from "./mqtt/topics.ts";
import { type PresenceCause, presence, type Session, stampOf } from "./reporting/documents.ts";
import type { OutboxPublisher } from "./reporting/outbox-publisher.ts";
import type { Reports } from "./reporting/reports.ts";
import type { SiteCommandGate } from "./site-command-gate.ts";
import { SiteSubscription } from "./site-subscription.ts";

export interface SessionDeps {
  readonly identity: FleetIdentity;
  readonly session: Session;
  readonly link: BrokerLink;
  readonly publisher: OutboxPublisher;
  readonly reports: Reports;
  readonly clockState: () => ClockState;
  readonly standing: SiteControls["standing"];
  readonly gate: SiteCommandGate;
  readonly linkProblems: LinkProblems;
  /** Called once presence is published, the topics are subscribed, and the link can be used. */
  readonly ready: () => void;
}

const look: Millis = 1000;
/**
 * Time limit for sending the last messages, and separately for closing the connection, if the broker does not respond.
 */
const farewell: Millis = 1500;

/**
 * Runs one connection from its CONNACK to its end: presence, subscriptions, then pending messages. Returns why it
 * ended; throws if the storage fails. Once `stop` aborts, the connection ends within twice `farewell`.
 */
export async function live(ambient: Ambient, deps: SessionDeps, stop: AbortSignal): Promise<LinkError> {
  const { link, identity } = deps;
  const tasks = new TaskGroup();
  let parting: Promise<void> | undefined;
  const part = (): void => {
    tasks.stop();
    // Started immediately, not once the tasks have ended: they end only with the connection, and then the
    // acknowledgements that `leave` awaits would be rejected.
    parting = leave(ambient, deps, stop);
  };
  void link.ended.then((error) => tasks.stop(error));
  if (stop.aborted) part();
  else {
    stop.addEventListener("abort", part, { once: true });
    tasks.start("greeting", (signal) => greet(ambient, deps, tasks, signal));
  }
  try {
    await tasks.join();
  } catch (thrown) {
    // The task group wraps the error.
    const error = thrown instanceof Error && thrown.cause instanceof PublishError ? thrown.cause : thrown;
    link.abandon(endFor(error, identity));
    if (!(error instanceof PublishError)) throw error;
  } finally {
    stop.removeEventListener("abort", part);
    await parting;
  }
  return await link.ended;
}

/** The reason for ending the link. If the link itself failed, it has already ended with a more precise reason. */
function endFor(error: unknown, identity: FleetIdentity): LinkError {
  if (!(error instanceof PublishError))
    return new LinkError("stopped", "an internal error ended the connection to the broker", { cause: error });
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
async function greet(ambient: Ambient, deps: SessionDeps, tasks: TaskGroup, signal: AbortSignal): Promise<void> {
  const { link, publisher, reports, session, ready } = deps;
  const { clock } = ambient;
  await link.publish(upMessage(deps, "online", "connect", clock.now()));
  if (signal.aborted) return;
  await subscribe(deps, clock.now());
  if (signal.aborted) return;
  ready();
  reports.begin(session.number, link.sessionPresent);
  tasks.start("publisher", (inner) => publisher.run(link, inner));
  tasks.start("reports", (inner) => report(ambient, deps, inner));
}

async function subscribe({ identity, link, standing, gate }: SessionDeps, now: Instant): Promise<void> {
  const { commands, desired, broadcast, site } = filtersOf(identity);
  await link.subscribe([
    { filter: commands, retained: false },
    { filter: broadcast, retained: false },
    // The broker sends the retained document again; a version that has already been applied is ignored.
    { filter: desired, retained: true },
  ]);
  if (link.sessionPresent && !gate.wants(standing(), now)) await link.unsubscribe(site);
}

/** Every second: queues due documents, and subscribes to the site's commands while this board leads. */
async function report({ clock }: Ambient, deps: SessionDeps, signal: AbortSignal): Promise<void> {
  const { publisher, reports } = deps;
  const site = new SiteSubscription(deps);
  while (!signal.aborted) {
    reports.update(clock.now());
    publisher.ring();
    await site.follow(clock.now());
    await sleep(clock, look, signal);
  }
}

/** Publishes that this board is offline (a clean DISCONNECT discards the will), then disconnects. Never rejects. */
async function leave(ambient: Ambient, deps: SessionDeps, stop: AbortSignal): Promise<void> {
  const { link, publisher, reports } = deps;
  const now = ambient.clock.now();
  const cause: PresenceCause = stop.reason instanceof Reconnect ? "reload" : "stop";
  const goodbyes = [...publisher.unwritten(), reports.resignation(now), upMessage(deps, "offline", cause, now)];
  const done = Promise.allSettled([
    // Later site commands are for the next leader, so the broker must not queue them for this board.
    cause === "stop" ? link.unsubscribe(filtersOf(deps.identity).site) : undefined,
    ...goodbyes.map((message) => message && link.publish(message)),
  ]);
  const late = new AbortController();
  await Promise.race([done, sleep(ambient.clock, farewell, late.signal)]);
  late.abort();
  await link.close(farewell);
}

/** Abort reason: reconnect with other credentials. */
export class Reconnect extends Error {
  override readonly name = "Reconnect";
}

function upMessage(
  { identity, session, clockState }: SessionDeps,
  state: "online" | "offline",
  cause: PresenceCause,
  now: Instant,
) {
  const payload = presence(state, session, cause, stampOf(now, clockState()));
  return { topic: boardTopic(identity, "up"), payload, retain: true };
}
