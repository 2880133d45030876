import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { DurationSample } from "../base/duration-sample.ts";
import { hintOf } from "../base/errors.ts";
import { RollingCount } from "../base/rolling-count.ts";
import { skewIn } from "./clock-skew.ts";
import { CredentialsError } from "./credentials-error.ts";
import type { HttpRequest, HttpResponse, Transport } from "./transport.ts";
import { TransportError } from "./transport-error.ts";

export interface ApiLinkView {
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  /** From a request to the head of its answer, over the last 64. */
  readonly rtt: { readonly p50: Millis; readonly p95: Millis } | undefined;
  /** Requests answered or failed, those that failed, and opened watches. */
  readonly lastHour: { readonly requests: number; readonly failed: number; readonly watches: number };
  /** Why the last exchange failed, while the state is not up. */
  readonly failure: ApiFailure | undefined;
  /** The last outage that has ended. */
  readonly lastOutage: Outage | undefined;
}

/** From the first unanswered request to the next answer. */
export interface Outage {
  /** Counted since the process began. */
  readonly number: number;
  readonly began: Instant;
  readonly ended: Instant;
}

export interface ApiFailure {
  readonly kind: "unreachable" | "credentials" | "certificate";
  readonly message: string;
  readonly hint: string;
}

/** Sees every exchange with the API server, so that the status can show the state of the link. */
export class ApiLink {
  readonly #ambient: Ambient;
  readonly #transport: Transport;
  readonly #changed: () => void;
  readonly #blip: Millis;
  readonly #roundTrips = new DurationSample();
  readonly #requests = new RollingCount();
  readonly #unanswered = new RollingCount();
  readonly #watches = new RollingCount();
  /** The reasons logged since the link went down. */
  readonly #said = new Set<string>();
  #state: ApiLinkView["state"] = "starting";
  #since: Instant;
  #failure: ApiFailure | undefined;
  /** When the request was sent whose failure turned the link down. */
  #lostAt: Instant | undefined;
  #lastOutage: Outage | undefined;
  #skew: Millis | undefined;

  /** `changed` is called when the link goes up or down, or fails for another reason than before. */
  constructor(
    ambient: Ambient,
    parts: {
      readonly transport: Transport;
      readonly changed: () => void;
      /** An interruption up to this long is not an outage. */
      readonly blip: Millis;
    },
  ) {
    this.#ambient = ambient;
    this.#blip = parts.blip;
    this.#transport = parts.transport;
    this.#changed = parts.changed;
    this.#since = ambient.clock.now();
  }

  readonly send: Transport = async (request) => {
    const begun = this.#ambient.clock.now();
    try {
      const response = await this.#transport(request);
      const now = this.#ambient.clock.now();
      this.#roundTrips.add(elapsed(begun, now));
      this.#skew = skewIn(response.headers.date, begun, now) ?? this.#skew;
      this.#requests.add(now);
      if (isWatch(request)) this.#watches.add(now);
      this.#answered(response, begun);
      return response;
    } catch (error) {
      // Our own abort says nothing about the link, unless we gave up waiting, perhaps for credentials.
      const isGivenUp = request.signal.aborted && !(error instanceof CredentialsError);
      this.#failed(isGivenUp ? request.signal.reason : error, begun);
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
      failure: this.#failure,
      lastOutage: this.#lastOutage,
    };
  }

  /** How far the API server's clock is ahead of this board's; undefined if no answer showed it. */
  get skew(): Millis | undefined {
    return this.#skew;
  }

  #answered({ status }: HttpResponse, begun: Instant): void {
    if (status === 401) this.#turn("down", notAccepted, begun);
    else this.#turn("up", undefined, begun);
  }

  /** Keeps only the sentence: Node's and OpenSSL's wording would repeat it. */
  #failed(error: unknown, begun: Instant): void {
    const kind = kindOf(error);
    if (kind === undefined || !(error instanceof Error)) return;
    const now = this.#ambient.clock.now();
    this.#requests.add(now);
    this.#unanswered.add(now);
    this.#turn("down", { kind, message: error.message, hint: hintOf(error) ?? goesOn }, begun);
  }

  #turn(state: "up" | "down", failure: ApiFailure | undefined, begun: Instant): void {
    if (state === this.#state && failure?.message === this.#failure?.message) return;
    const now = this.#ambient.clock.now();
    const turned = state !== this.#state;
    const lostAt = this.#lostAt;
    this.#state = state;
    this.#failure = failure;
    if (turned) {
      // A request that timed out was sent when the outage had already begun.
      this.#since = state === "down" ? begun : now;
      this.#lostAt = state === "down" ? begun : undefined;
    }
    const isOutage = state === "up" && lostAt !== undefined && elapsed(lostAt, now) > this.#blip;
    if (isOutage) this.#lastOutage = { number: (this.#lastOutage?.number ?? 0) + 1, began: lostAt, ended: now };
    this.#say(failure, lostAt && elapsed(lostAt, now));
    this.#changed();
  }

  /** Logs each reason once, even if reasons alternate. */
  #say(failure: ApiFailure | undefined, away: Millis | undefined): void {
    const { log } = this.#ambient;
    if (failure === undefined) {
      this.#said.clear();
      log.info("API server reached", { awayMs: away && Math.round(away) });
    } else if (!this.#said.has(failure.message) && this.#said.size < mostSaid) {
      this.#said.add(failure.message);
      log.warn("API server not reached", { reason: failure.message, hint: failure.hint });
    }
  }
}

const mostSaid = 8;

const goesOn = "Check the link and the API server; the agent keeps trying.";

const notAccepted: ApiFailure = {
  kind: "credentials",
  message: "the API server does not accept our credentials",
  hint: "Renew the token or the client certificate in the kubeconfig; compare this board's clock.",
};

const isWatch = ({ path }: HttpRequest): boolean => /[?&]watch=/.test(path);

/** Undefined: the exchange was not sent, or failed for reasons of our own. */
function kindOf(error: unknown): ApiFailure["kind"] | undefined {
  if (error instanceof CredentialsError) return "credentials";
  if (error instanceof TransportError) return error.reason === "TLS" ? "certificate" : "unreachable";
  return undefined;
}
