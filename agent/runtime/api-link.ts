import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import { CredentialsError } from "../client/credentials-error.ts";
import type { HttpRequest, HttpResponse, Transport } from "../client/transport.ts";
import { TransportError } from "../client/transport-error.ts";
import { DurationSample } from "./duration-sample.ts";

export interface ApiLinkView {
  readonly state: "starting" | "up" | "down";
  readonly since: Instant;
  readonly rttP95: Millis | undefined;
  /** What the last exchange failed with, while the state is not up. */
  readonly failure: ApiFailure | undefined;
  /** Requests that the server refused for want of a permission, until one of their kind goes through. */
  readonly forbidden: readonly string[];
}

export interface ApiFailure {
  readonly kind: "unreachable" | "credentials" | "certificate";
  readonly message: string;
  readonly hint: string | undefined;
}

/** Refusals that are named; each needs the same remedy, so the first few will do. */
const mostForbidden = 8;

/** Every exchange with the API server passes through here, so that a person can be told how the link is. */
export class ApiLink {
  readonly #ambient: Ambient;
  readonly #transport: Transport;
  readonly #roundTrips = new DurationSample();
  readonly #forbidden = new Set<string>();
  #state: ApiLinkView["state"] = "starting";
  #since: Instant;
  #failure: ApiFailure | undefined;

  constructor(ambient: Ambient, parts: { readonly transport: Transport }) {
    this.#ambient = ambient;
    this.#transport = parts.transport;
    this.#since = ambient.clock.now();
  }

  readonly send: Transport = async (request) => {
    const begun = this.#ambient.clock.now();
    try {
      const response = await this.#transport(request);
      this.#roundTrips.add(elapsed(begun, this.#ambient.clock.now()));
      this.#answered(request, response);
      return response;
    } catch (error) {
      // A request that we gave up ourselves says nothing about the link.
      if (!request.signal.aborted) this.#failed(error);
      throw error;
    }
  };

  view(): ApiLinkView {
    return {
      state: this.#state,
      since: this.#since,
      rttP95: this.#roundTrips.p95,
      failure: this.#failure,
      forbidden: [...this.#forbidden],
    };
  }

  #answered(request: HttpRequest, { status }: HttpResponse): void {
    if (status === 401) {
      this.#turn("down", {
        kind: "credentials",
        message: "the API server does not accept our credentials",
        hint: "Renew the token or the client certificate in the kubeconfig.",
      });
      return;
    }
    const what = `${request.method} ${request.path.replace(/\?.*/, "")}`;
    if (status !== 403) this.#forbidden.delete(what);
    else if (this.#forbidden.size < mostForbidden) this.#forbidden.add(what);
    this.#turn("up", undefined);
  }

  #failed(error: unknown): void {
    const kind = kindOf(error);
    if (kind !== undefined) this.#turn("down", { kind, message: sentenceOf(error), hint: hintOf(error) });
  }

  #turn(state: "up" | "down", failure: ApiFailure | undefined): void {
    this.#failure = failure;
    if (state === this.#state) return;
    this.#state = state;
    this.#since = this.#ambient.clock.now();
    if (state === "up") this.#ambient.log.info("API server reached");
    else this.#ambient.log.warn("API server not reached", { reason: failure?.message, hint: failure?.hint });
  }
}

/** `undefined`: the exchange was not sent, or failed for reasons of our own. */
function kindOf(error: unknown): ApiFailure["kind"] | undefined {
  if (error instanceof CredentialsError) return "credentials";
  if (error instanceof TransportError) return error.reason === "TLS" ? "certificate" : "unreachable";
  return undefined;
}
