import type { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted, sleep } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Effect, SiteControls } from "../commands/desk/controls.ts";
import type { Config } from "../config/settings.ts";
import type { MqttPart } from "../status/parts.ts";
import type { Intake } from "./intake.ts";
import type { Tls } from "./mqtt/credentials.ts";
import { LinkError, type LinkOptions, type OpenLink } from "./mqtt/link.ts";
import type { LinkProblems } from "./mqtt/link-problems.ts";
import { boardTopic, type FleetIdentity, userNameOf } from "./mqtt/topics.ts";
import { afterEnd, rested } from "./pace.ts";
import { presence } from "./reporting/documents.ts";
import type { FleetEventSink } from "./reporting/fleet-events.ts";
import type { OutboxPublisher } from "./reporting/outbox-publisher.ts";
import type { Reports } from "./reporting/reports.ts";
import type { States } from "./reporting/states.ts";
import { live, Reconnect } from "./session.ts";
import type { SiteCommandGate } from "./site-command-gate.ts";

export interface FleetDeps {
  readonly config: Config;
  readonly identity: FleetIdentity;
  readonly url: URL;
  readonly open: OpenLink;
  /** Reads the credential files. Throws a LinkError. */
  readonly credentials: () => Tls;
  readonly outbox: Outbox;
  readonly states: States;
  readonly publisher: OutboxPublisher;
  readonly reports: Reports;
  readonly events: FleetEventSink;
  readonly bootId: string;
  readonly clockState: () => ClockState;
  readonly standing: SiteControls["standing"];
  readonly gate: SiteCommandGate;
  readonly linkProblems: LinkProblems;
  /** Called when the link's part of the status has changed. */
  readonly statusChanged: () => void;
}

const willDelay: Millis = 30_000;
const connectTimeout: Millis = 30_000;
const filesLook: Millis = 60_000;
const clockLook: Millis = 2000;
/** Time limit for a connection with new credentials to come up. */
const reloadLimit: Millis = 60_000;
/** Pause after an error that does not come from the link, such as a storage error. */
const storagePause: Millis = 30_000;

/**
 * Keeps this board connected to the fleet's broker. Failures never block or end the agent; they appear in the status,
 * and the connection is retried.
 */
export class Fleet {
  readonly #ambient: Ambient;
  readonly #deps: FleetDeps;
  #pace = rested;
  #state: MqttPart["state"] = "starting";
  #since: Instant;
  #session = 0;
  #error: LinkError | undefined;
  /** When the next attempt to connect begins; undefined unless this board waits for it. */
  #nextAttempt: Instant | undefined;
  /** The credentials of the current connection, or of the last one that came up. */
  #tls: Tls | undefined;
  /**
   * Credentials to use instead of those in the files, because no connection could be established with the latter;
   * undefined if the files are used.
   */
  #keeps: Tls | undefined;
  /** Aborted to end the current connection and open another one. */
  #again = new AbortController();

  constructor(ambient: Ambient, deps: FleetDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#since = ambient.clock.now();
  }

  async run(signal: AbortSignal, intake: Intake): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("leftover answers", (inner) => this.#guarded("leftover answers", intake.leftover(inner)));
    tasks.start("link", (inner) => this.#connections(inner, intake));
    tasks.start("files", (inner) => this.#watchFiles(inner));
    await tasks.join();
  }

  part(now: Instant): MqttPart {
    const { outbox, states, publisher, bootId, url } = this.#deps;
    const oldest = outbox.oldest();
    return {
      state: this.#state,
      since: this.#since,
      server: url.host,
      session: this.#session,
      rttMs: publisher.rtt,
      outbox: {
        state: states.size,
        response: outbox.usage("response").rows,
        event: outbox.usage("event").rows,
        oldestMs: oldest && (oldest.boot === bootId ? now.mono - oldest.mono : now.mono),
      },
      dropped: outbox.lost,
      error: this.#error && { message: sentenceOf(this.#error), hint: this.#error.hint },
      nextAttempt: this.#nextAttempt,
    };
  }

  /** The last error; undefined while the link is up and before the first failure. */
  get error(): LinkError | undefined {
    return this.#error;
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  /**
   * Reconnects with the current credential files. If no connection comes up with them within a minute, the previous
   * credentials are used again.
   */
  async reloadCredentials(dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    const { clock } = this.#ambient;
    // A link without TLS has no credentials. A command must not fail for files that are never used.
    if (this.#deps.url.protocol !== "mqtts:") return { outcome: "done", result: { changed: false } };
    const former = this.#tls;
    let fresh: Tls;
    try {
      this.#keeps = undefined;
      fresh = this.#deps.credentials();
    } catch (error) {
      this.#keeps = former;
      return { outcome: "refused", code: 422, error: "credentials", message: sentenceOf(error) };
    }
    const isChanged = former === undefined || !isSame(former, fresh);
    if (dryRun || !isChanged) return { outcome: "done", result: { changed: isChanged } };
    this.#reconnect();
    const begun = clock.now();
    while (!signal.aborted && elapsed(begun, clock.now()) < reloadLimit) {
      await sleep(clock, 250, signal);
      if (this.isUp && this.#tls !== undefined && isSame(this.#tls, fresh))
        return { outcome: "done", result: { changed: true } };
    }
    this.#keeps = former;
    this.#reconnect();
    const message = this.#error ? sentenceOf(this.#error) : "no connection was established";
    return {
      outcome: "failed",
      code: 500,
      error: "credentials",
      message,
      result: { rolledBack: former !== undefined },
    };
  }

  async #connections(signal: AbortSignal, intake: Intake): Promise<void> {
    const { clock, random } = this.#ambient;
    const { config, events } = this.#deps;
    const { first, most, refused } = config.mqtt.reconnect;
    while (!signal.aborted) {
      const again = this.#again.signal;
      const both = AbortSignal.any([signal, again]);
      const { error, upFor } = await this.#connection(both, intake);
      if (signal.aborted) return;
      if (again.aborted) {
        this.#again = new AbortController();
        this.#pace = rested;
        continue;
      }
      const next = afterEnd(
        this.#pace,
        { kind: error.kind, upFor },
        clock.now(),
        { first, most, refused },
        random.next(),
      );
      this.#pace = next.pace;
      if (next.isDuplicate) {
        this.#ambient.log.error("another client uses this board's identity", {
          identity: userNameOf(this.#deps.identity),
        });
        events.note({ type: "identity.duplicate", severity: "critical", detail: { session: this.#session } });
      }
      this.#nextAttempt = shifted(clock.now(), next.pause);
      this.#setState("down", error);
      await this.#pause(error, next.pause, both);
      this.#nextAttempt = undefined;
      if (again.aborted && !signal.aborted) this.#again = new AbortController();
    }
  }

  /**
   * Waits before the next attempt. If the last one failed because of a certificate, the clock may be wrong, so the wait
   * also ends as soon as the clock is synchronised.
   */
  async #pause({ kind }: LinkError, pause: Millis, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { clockState } = this.#deps;
    const waitsForClock = kind === "certificate" && clockState() === "unsynced";
    const begun = clock.now();
    for (let left = pause; left > 0 && !signal.aborted; left = pause - elapsed(begun, clock.now())) {
      await sleep(clock, waitsForClock ? Math.min(left, clockLook) : left, signal);
      if (waitsForClock && clockState() === "synced") return;
    }
  }

  /** Runs one connection, from reading the credentials to its end. */
  async #connection(
    signal: AbortSignal,
    intake: Intake,
  ): Promise<{ readonly error: LinkError; readonly upFor: Millis | undefined }> {
    const { clock, log } = this.#ambient;
    const { open, bootId, url } = this.#deps;
    let upSince: Instant | undefined;
    let isOver = false;
    try {
      const tls = url.protocol === "mqtts:" ? (this.#keeps ?? this.#deps.credentials()) : undefined;
      const session = { number: this.#nextSession(), bootId };
      this.#session = session.number;
      // The gate must be reset even before connecting, because queued messages may arrive together with the CONNACK.
      this.#deps.gate.begin(clock.now());
      // A message that is handled after the end of its connection does not prove that the link is up.
      const ready = (): void => {
        if (!isOver) this.#ready(tls);
      };
      const link = await open(this.#opening(tls, presence("offline", session, "lost"), intake, ready), signal);
      upSince = clock.now();
      this.#deps.gate.begin(upSince);
      const { identity, publisher, reports, clockState, standing, gate, linkProblems } = this.#deps;
      const error = await live(
        this.#ambient,
        { identity, session, link, publisher, reports, clockState, standing, gate, linkProblems, ready },
        signal,
      );
      return { error, upFor: elapsed(upSince, clock.now()) };
    } catch (error) {
      const upFor = upSince && elapsed(upSince, clock.now());
      if (error instanceof LinkError) return { error, upFor };
      log.error("the link to the fleet failed", { error, hint: hintOf(error) });
      await sleep(clock, storagePause, signal);
      return { error: new LinkError("lost", sentenceOf(error)), upFor };
    } finally {
      isOver = true;
      try {
        this.#keepSession();
      } catch (error) {
        log.debug("the session number is not stored yet", { error });
      }
    }
  }

  /** The number of a new session. While the disk is full, the number advances in memory only, and is stored later. */
  #nextSession(): number {
    const { outbox } = this.#deps;
    try {
      this.#keepSession();
      return outbox.count("session");
    } catch (error) {
      this.#ambient.log.warn("the session number cannot be stored", { error });
      return Math.max(this.#session, outbox.last("session")) + 1;
    }
  }

  #ready(tls: Tls | undefined): void {
    this.#tls = tls;
    if (!this.isUp) this.#setState("up", undefined);
  }

  /** Stores session numbers that could not be stored before. */
  #keepSession(): void {
    const { outbox } = this.#deps;
    while (outbox.last("session") < this.#session) outbox.count("session");
  }

  #opening(tls: Tls | undefined, will: string, intake: Intake, ready: () => void): LinkOptions {
    const { config, identity, url } = this.#deps;
    const { keepalive, sessionExpiry, receiveMaximum, maxPacket, topicAliases } = config.mqtt;
    return {
      url,
      tls,
      clientId: userNameOf(identity),
      keepalive,
      sessionExpiry,
      receiveMaximum,
      maxPacket,
      topicAliases,
      connectTimeout,
      will: { topic: boardTopic(identity, "up"), payload: will, delay: willDelay },
      receive: (message) => {
        // A received message proves that the link is up. It may be handled before the subscriptions are acknowledged.
        ready();
        return intake.receive(message);
      },
    };
  }

  /** Reconnects within a minute after the credential files were changed. */
  async #watchFiles(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    while (!signal.aborted && this.#deps.url.protocol === "mqtts:") {
      await sleep(clock, filesLook, signal);
      const used = this.#tls;
      if (signal.aborted || !this.isUp || used === undefined || this.#keeps) continue;
      try {
        if (isSame(used, this.#deps.credentials())) continue;
      } catch {
        // The files may be only partly copied; they are read again in the next round.
        continue;
      }
      const { outcome } = await this.reloadCredentials(false, signal);
      log.info("the credential files of the fleet link have changed", { outcome });
    }
  }

  #reconnect(): void {
    this.#again.abort(new Reconnect("the credential files have changed"));
  }

  #setState(state: MqttPart["state"], error: LinkError | undefined): void {
    const { clock, log } = this.#ambient;
    if (state === "up")
      log.info("connected to the fleet's broker", { server: this.#deps.url.host, session: this.#session });
    else if (this.#state !== state || this.#error?.message !== error?.message)
      log.warn("no connection to the fleet's broker", { error, hint: error?.hint });
    if (this.#state !== state) this.#since = clock.now();
    this.#state = state;
    this.#error = error;
    this.#deps.statusChanged();
  }

  async #guarded(what: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#ambient.log.error("a task of the fleet link failed", { what, error });
    }
  }
}

const isSame = (a: Tls, b: Tls): boolean => a.certificate === b.certificate && a.key === b.key && a.ca === b.ca;
