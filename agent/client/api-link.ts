import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { hintOf } from "../base/errors.ts";
import { DurationSample } from "../base/time/duration-sample.ts";
import { RollingCount } from "../base/time/rolling-count.ts";
import { skewIn } from "./clock-skew.ts";
import { CredentialsError } from "./credentials/credentials-error.ts";
import { type HttpResponse, isWatch, type Transport } from "./transport/transport.ts";
import { NoFurtherConnection, TransportError } from "./transport/transport-error.ts";

export interface ApiLinkView {
  /** starting: so far, no response has arrived and no request has failed. */
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  /**
   * The time from a request to the headers of its response, over the last 64 requests; undefined before the first
   * response.
   */
  readonly rtt: { readonly p50: Millis; readonly p95: Millis } | undefined;
  /** `requests` includes those that failed; `watches` counts the opened ones. */
  readonly lastHour: { readonly requests: number; readonly failed: number; readonly watches: number };
  /** When the last response arrived; undefined before the first. */
  readonly answeredAt: Instant | undefined;
  /** Why the last exchange failed; undefined while the link is up. */
  readonly failure: ApiFailure | undefined;
  /** The last outage that has ended; undefined if there was none. */
  readonly lastOutage: Outage | undefined;
}

/**
 * An interruption longer than `link.blip`: either of requests, from the first one without a response to the next
 * response, or of the watches of boards alone, while no request failed.
 */
export interface Outage {
  /** Outages are numbered from 1 since the process started. */
  readonly number: number;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
  /** Why its first request failed; "silence" if none did. */
  readonly kind: ApiFailure["kind"] | "silence";
  /** Whether this board led when it began. */
  readonly isLed: boolean;
}

export interface ApiFailure {
  readonly kind: "unreachable" | "credentials" | "certificate";
  readonly message: string;
  readonly hint: string;
}

/** A request: when it was sent, and whether this board led then. */
interface Attempt {
  readonly begun: Instant;
  readonly isLed: boolean;
}

/** Wraps the transport to the API server and measures every exchange. The status shows its view. */
export class ApiLink {
  readonly #ambient: Ambient;
  readonly #transport: Transport;
  readonly #changed: () => void;
  readonly #blip: Millis;
  readonly #isLeading: () => boolean;
  readonly #roundTrips = new DurationSample();
  readonly #requests = new RollingCount();
  readonly #unanswered = new RollingCount();
  readonly #watches = new RollingCount();
  /** The reasons logged since the link went down. */
  readonly #loggedReasons = new Set<string>();
  #state: ApiLinkView["state"] = "starting";
  #since: Instant;
  #failure: ApiFailure | undefined;
  /** While the link is down: when the first request that failed was sent, and why it failed. */
  #lost: Pick<Outage, "startedAt" | "kind" | "isLed"> | undefined;
  #lastOutage: Outage | undefined;
  #answeredAt: Instant | undefined;
  #skew: Millis | undefined;

  /** `changed` is called when the link goes up or down, or fails for a different reason than before. */
  constructor(
    ambient: Ambient,
    deps: {
      readonly transport: Transport;
      readonly changed: () => void;
      /** An interruption up to this long is not an outage. */
      readonly blip: Millis;
      /** Whether this board leads now. */
      readonly isLeading: () => boolean;
    },
  ) {
    this.#ambient = ambient;
    this.#blip = deps.blip;
    this.#isLeading = deps.isLeading;
    this.#transport = deps.transport;
    this.#changed = deps.changed;
    this.#since = ambient.clock.now();
  }

  readonly send: Transport = async (request) => {
    const attempt = { begun: this.#ambient.clock.now(), isLed: this.#isLeading() };
    const { begun } = attempt;
    try {
      const response = await this.#transport(request);
      const now = this.#ambient.clock.now();
      this.#roundTrips.add(elapsed(begun, now));
      this.#skew = skewIn(response.headers.date, begun, now) ?? this.#skew;
      this.#requests.add(now);
      this.#answeredAt = now;
      if (isWatch(request)) this.#watches.add(now);
      this.#answered(response, attempt);
      return response;
    } catch (error) {
      // An abort by the caller reveals nothing about the link. Our own timeout does, and aborts with a distinct error.
      const isGivenUp = request.signal.aborted && !(error instanceof CredentialsError);
      this.#failed(isGivenUp ? request.signal.reason : error, attempt);
      throw error;
    }
  };

  view(): ApiLinkView {
    const now = this.#ambient.clock.now();
    const { p50, p95 } = this.#roundTrips;
    return {
      state: this.#state,
      since: this.#since,
      rtt: p50 === undefined || p95 === undefined ? undefined : { p50, p95 },
      lastHour: {
        requests: this.#requests.total(now),
        failed: this.#unanswered.total(now),
        watches: this.#watches.total(now),
      },
      answeredAt: this.#answeredAt,
      failure: this.#failure,
      lastOutage: this.#lastOutage,
    };
  }

  /**
   * The watches of boards were interrupted for longer than `link.blip`, and are live again. This counts as an outage,
   * because boards are then judged and evicted as after any other outage, unless failed requests have already shown it.
   */
  onSilence(startedAt: Instant, endedAt: Instant): void {
    if (this.#state === "down" || this.#isPartOfLast(startedAt)) return;
    const number = (this.#lastOutage?.number ?? 0) + 1;
    this.#lastOutage = { number, startedAt, endedAt, kind: "silence", isLed: this.#isLeading() };
    this.#ambient.log.warn("heartbeats could not be received, although no request failed", {
      awayMs: Math.round(elapsed(startedAt, endedAt)),
    });
    this.#changed();
  }

  /** Whether an interruption that began at this instant overlaps the last outage. */
  #isPartOfLast(startedAt: Instant): boolean {
    return this.#lastOutage !== undefined && elapsed(startedAt, this.#lastOutage.endedAt) >= 0;
  }

  /** How far the API server's clock is ahead of this board's clock; undefined before the first response with a date. */
  get skew(): Millis | undefined {
    return this.#skew;
  }

  #answered({ status }: HttpResponse, attempt: Attempt): void {
    if (status === 401) this.#turn("down", notAccepted, attempt);
    else this.#turn("up", undefined, attempt);
  }

  #failed(error: unknown, attempt: Attempt): void {
    const kind = kindOf(error);
    if (kind === undefined || !(error instanceof Error)) return;
    const now = this.#ambient.clock.now();
    this.#requests.add(now);
    this.#unanswered.add(now);
    this.#turn("down", { kind, message: error.message, hint: hintOf(error) ?? tryAgain }, attempt);
  }

  #turn(state: "up" | "down", failure: ApiFailure | undefined, { begun, isLed }: Attempt): void {
    if (state === this.#state && failure?.message === this.#failure?.message) return;
    const now = this.#ambient.clock.now();
    const turned = state !== this.#state;
    const lost = this.#lost;
    this.#state = state;
    this.#failure = failure;
    if (turned) {
      // The outage began, at the latest, when its first request without a response was sent.
      this.#since = state === "down" ? begun : now;
      this.#lost = failure && { startedAt: begun, kind: failure.kind, isLed };
    }
    const isOutage = state === "up" && lost !== undefined && elapsed(lost.startedAt, now) > this.#blip;
    if (isOutage) {
      const last = this.#lastOutage;
      const goesOn = this.#isPartOfLast(lost.startedAt);
      const isLedOutage = lost.isLed || (goesOn && last?.isLed === true);
      this.#lastOutage = { ...lost, number: (last?.number ?? 0) + (goesOn ? 0 : 1), isLed: isLedOutage, endedAt: now };
    }
    this.#log(failure, lost && elapsed(lost.startedAt, now));
    this.#changed();
  }

  /** Logs each reason once per interruption, even if reasons alternate. */
  #log(failure: ApiFailure | undefined, away: Millis | undefined): void {
    const { log } = this.#ambient;
    if (failure === undefined) {
      this.#loggedReasons.clear();
      log.info("API server reached", { awayMs: away && Math.round(away) });
    } else if (!this.#loggedReasons.has(failure.message) && this.#loggedReasons.size < maxLoggedReasons) {
      this.#loggedReasons.add(failure.message);
      log.warn("API server not reached", { reason: failure.message, hint: failure.hint });
    }
  }
}

const maxLoggedReasons = 8;

const tryAgain = "Check the link and the API server; the agent keeps trying.";

const notAccepted: ApiFailure = {
  kind: "credentials",
  message: "the API server does not accept our credentials",
  hint: "Renew the token or the client certificate in the kubeconfig, and check this board's clock.",
};

/**
 * The kind of a failure; undefined if the error comes from neither the link nor the credentials, or if the server still
 * responds to other requests.
 */
function kindOf(error: unknown): ApiFailure["kind"] | undefined {
  if (error instanceof NoFurtherConnection) return undefined;
  if (error instanceof CredentialsError) return "credentials";
  if (error instanceof TransportError) return error.reason === "TLS" ? "certificate" : "unreachable";
  return undefined;
}
