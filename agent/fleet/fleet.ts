import type { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import { TaskGroup } from "../base/tasks.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Effect, SiteControls } from "../commands/desk/controls.ts";
import type { Config } from "../config/settings.ts";
import type { MqttPart } from "../status/parts.ts";
import type { Tls } from "./credentials.ts";
import { presence } from "./documents.ts";
import type { FleetEventSink } from "./fleet-events.ts";
import type { Intake } from "./intake.ts";
import { LinkError, type Opening, type OpenLink } from "./link.ts";
import type { LinkProblems } from "./link-problems.ts";
import type { OutboxPublisher } from "./outbox-publisher.ts";
import { afterEnd, rested } from "./pace.ts";
import type { Reports } from "./reports.ts";
import { live, Reconnect } from "./session.ts";
import type { SiteCommandGate } from "./site-command-gate.ts";
import type { States } from "./states.ts";
import { boardTopic, type Identity, userNameOf } from "./topics.ts";

export interface FleetParts {
  readonly config: Config;
  readonly identity: Identity;
  readonly url: URL;
  readonly open: OpenLink;
  /** Reads the credential files. Throws a LinkError. */
  readonly credentials: () => Tls;
  readonly outbox: Outbox;
  readonly states: States;
  readonly drain: OutboxPublisher;
  readonly intake: Intake;
  readonly reports: Reports;
  readonly happenings: FleetEventSink;
  readonly bootId: string;
  readonly clockState: () => ClockState;
  readonly standing: SiteControls["standing"];
  readonly ear: SiteCommandGate;
  readonly troubles: LinkProblems;
  /** Called when the link's part of the status changes. */
  readonly news: () => void;
}

const willDelay: Millis = 30_000;
const connectTimeout: Millis = 30_000;
const filesLook: Millis = 60_000;
const clockLook: Millis = 2000;
/** How long new credentials may take to connect. */
const reloadLimit: Millis = 60_000;
/** Pause after an error of our own storage. */
const storagePause: Millis = 30_000;

/**
 * The fleet link over many connections. Its failures never block or end the agent; they appear in the status and are
 * retried.
 */
export class Fleet {
  readonly #ambient: Ambient;
  readonly #parts: FleetParts;
  #pace = rested;
  #state: MqttPart["state"] = "starting";
  #since: Instant;
  #session = 0;
  #error: LinkError | undefined;
  /** Of the current connection, or of the last one that came up. */
  #tls: Tls | undefined;
  /** Credentials to keep after newer files failed to connect. */
  #keeps: Tls | undefined;
  #again = new AbortController();

  constructor(ambient: Ambient, parts: FleetParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#since = ambient.clock.now();
  }

  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("leftover answers", (inner) => this.#guarded("leftover answers", this.#parts.intake.leftover(inner)));
    tasks.start("link", (inner) => this.#connections(inner));
    tasks.start("files", (inner) => this.#watchFiles(inner));
    await tasks.join();
  }

  part(now: Instant): MqttPart {
    const { outbox, states, drain, bootId, url } = this.#parts;
    const oldest = outbox.oldest();
    return {
      state: this.#state,
      since: this.#since,
      server: url.host,
      session: this.#session,
      rtt: drain.rtt,
      outbox: {
        state: states.size,
        response: outbox.usage("response").rows,
        event: outbox.usage("event").rows,
        oldest: oldest && (oldest.boot === bootId ? now.mono - oldest.mono : now.mono),
      },
      dropped: outbox.lost,
      error: this.#error && { message: sentenceOf(this.#error), hint: this.#error.hint },
    };
  }

  /** The last error; `undefined` while the link is up and before the first failure. */
  get error(): LinkError | undefined {
    return this.#error;
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  /**
   * Reloads the credential files. Unless a connection comes up with them within a minute, the former ones are restored:
   * a bad copy must not cost the link.
   */
  async reloadCredentials(dryRun: boolean, signal: AbortSignal): Promise<Effect> {
    const { clock } = this.#ambient;
    const former = this.#tls;
    let fresh: Tls;
    try {
      this.#keeps = undefined;
      fresh = this.#parts.credentials();
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
    const message = this.#error ? sentenceOf(this.#error) : "no connection came up";
    return {
      outcome: "failed",
      code: 500,
      error: "credentials",
      message,
      result: { rolledBack: former !== undefined },
    };
  }

  async #connections(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ambient;
    const { config, happenings } = this.#parts;
    const { first, most, refused } = config.mqtt.reconnect;
    while (!signal.aborted) {
      const again = this.#again.signal;
      const both = AbortSignal.any([signal, again]);
      const { error, upFor } = await this.#connection(both);
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
          identity: userNameOf(this.#parts.identity),
        });
        happenings.note({ type: "identity.duplicate", severity: "critical", detail: { session: this.#session } });
      }
      this.#is("down", error);
      await this.#pause(error, next.pause, both);
      if (again.aborted && !signal.aborted) this.#again = new AbortController();
    }
  }

  /** A certificate may only seem expired or not yet valid; retries as soon as the clock is synchronised. */
  async #pause({ kind }: LinkError, pause: Millis, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const { clockState } = this.#parts;
    const waitsForClock = kind === "certificate" && clockState() === "unsynced";
    const begun = clock.now();
    for (let left = pause; left > 0 && !signal.aborted; left = pause - elapsed(begun, clock.now())) {
      await sleep(clock, waitsForClock ? Math.min(left, clockLook) : left, signal);
      if (waitsForClock && clockState() === "synced") return;
    }
  }

  /** Runs one connection, from reading the credentials to its end. */
  async #connection(signal: AbortSignal): Promise<{ readonly error: LinkError; readonly upFor: Millis | undefined }> {
    const { clock, log } = this.#ambient;
    const { open, bootId, url } = this.#parts;
    let upSince: Instant | undefined;
    let isOver = false;
    try {
      const tls = url.protocol === "mqtts:" ? (this.#keeps ?? this.#parts.credentials()) : undefined;
      const session = { number: this.#nextSession(), bootId };
      this.#session = session.number;
      // Also before connecting: queued messages may arrive together with the CONNACK.
      this.#parts.ear.begin(clock.now());
      // Messages received before the end are still handled, but no longer prove that the link is up.
      const ready = (): void => {
        if (!isOver) this.#ready(tls);
      };
      const link = await open(this.#opening(tls, presence("offline", session, "lost"), ready), signal);
      upSince = clock.now();
      this.#parts.ear.begin(upSince);
      const { identity, drain, reports, clockState, standing, ear, troubles } = this.#parts;
      const error = await live(
        this.#ambient,
        { identity, session, link, drain, reports, clockState, standing, ear, troubles, ready },
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
        log.debug("the number of the session is not written down yet", { error });
      }
    }
  }

  /** A full disk must not keep the board from its fleet: the number advances in memory and is persisted later. */
  #nextSession(): number {
    const { outbox } = this.#parts;
    try {
      this.#keepSession();
      return outbox.count("session");
    } catch (error) {
      this.#ambient.log.warn("the number of the session cannot be written down", { error });
      return Math.max(this.#session, outbox.last("session")) + 1;
    }
  }

  #ready(tls: Tls | undefined): void {
    this.#tls = tls;
    if (!this.isUp) this.#is("up", undefined);
  }

  /** Persists session numbers that could not be written before. */
  #keepSession(): void {
    const { outbox } = this.#parts;
    while (outbox.last("session") < this.#session) outbox.count("session");
  }

  #opening(tls: Tls | undefined, will: string, ready: () => void): Opening {
    const { config, identity, intake, url } = this.#parts;
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
        // A received message proves the link as well, and may be handled before the last acknowledgement.
        ready();
        return intake.receive(message);
      },
    };
  }

  /** Uses renewed certificates within a minute, and reverts if the broker refuses them. */
  async #watchFiles(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    while (!signal.aborted && this.#parts.url.protocol === "mqtts:") {
      await sleep(clock, filesLook, signal);
      const used = this.#tls;
      if (signal.aborted || !this.isUp || used === undefined || this.#keeps) continue;
      try {
        if (isSame(used, this.#parts.credentials())) continue;
      } catch {
        // Perhaps half copied; checked again in the next round.
        continue;
      }
      const { outcome } = await this.reloadCredentials(false, signal);
      log.info("the credential files of the fleet's link changed", { outcome });
    }
  }

  #reconnect(): void {
    this.#again.abort(new Reconnect("with other files"));
  }

  #is(state: MqttPart["state"], error: LinkError | undefined): void {
    const { clock, log } = this.#ambient;
    if (state === "up") log.info("connected with the fleet", { server: this.#parts.url.host, session: this.#session });
    else if (this.#state !== state || this.#error?.message !== error?.message)
      log.warn("no connection with the fleet", { error, hint: error?.hint });
    if (this.#state !== state) this.#since = clock.now();
    this.#state = state;
    this.#error = error;
    this.#parts.news();
  }

  async #guarded(what: string, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#ambient.log.error("a part of the fleet's link failed", { what, error });
    }
  }
}

const isSame = (a: Tls, b: Tls): boolean => a.certificate === b.certificate && a.key === b.key && a.ca === b.ca;
