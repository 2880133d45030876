import type { KubeObject } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, type Millis, sleep } from "../base/clock.ts";
import type { Lane } from "../base/lanes.ts";
import { ApiError, type Attempt, isTooLargeResourceVersion } from "./api-error.ts";
import { CredentialsError } from "./credentials-error.ts";
import { IdleTimer } from "./idle-timer.ts";
import type { Permissions } from "./permissions.ts";
import type { Allowance } from "./request-limiter.ts";
import { refusedWith } from "./status-document.ts";
import type { Traffic } from "./traffic.ts";
import type { HttpRequest, HttpResponse, Transport } from "./transport.ts";
import { TransportError } from "./transport-error.ts";

/** One request, before authentication and transport. */
export interface Call extends Attempt {
  readonly resource: Resource<KubeObject>;
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /**
   * Ends the wait for the allowance, also between two attempts; a request already sent continues. Default: `signal`.
   */
  readonly patience?: AbortSignal | undefined;
  readonly lane?: Lane | undefined;
  readonly guard?: (() => void) | undefined;
  /** Per attempt: for a whole small answer; for a stream until its headers, and between chunks if it is a list. */
  readonly timeout: Millis;
}

interface Parts {
  readonly transport: Transport;
  readonly limiter: Allowance;
  readonly traffic: Traffic;
  /** Records forbidden requests; left out where a refusal is no problem. */
  readonly permissions?: Permissions;
}

const mostRetries = 10;
const afterReset: Millis = 1000;
/** Refusals are a few hundred bytes; single objects are at most etcd's limit of 1.5 MiB unless it was raised. */
const longestRefusal = 65_536;
const longestAnswer = 16 * 1024 * 1024;

/**
 * Sends calls: at the permitted rate, with retries where the server asks for them, counted, and with every failure as
 * an ApiError. An abort and a guard's error pass unchanged.
 */
export class Exchange {
  readonly #ambient: Ambient;
  readonly #parts: Parts;

  constructor(ambient: Ambient, parts: Parts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Returns the whole answer, parsed. */
  answer(call: Call): Promise<unknown> {
    const { clock } = this.#ambient;
    return this.#retrying(call, async () => {
      const limit = deadline(clock, call.timeout, call.signal, () => tooSlow(call));
      try {
        const response = await this.#send(call, limit.signal);
        return JSON.parse((await bytesOf(response.body, longestAnswer)).toString());
      } catch (error) {
        if (error instanceof SyntaxError) throw unreadable(call, "the answer is no JSON");
        throw error;
      } finally {
        limit.dispose();
      }
    });
  }

  /** Returns the body as soon as the answer has begun. A list that stalls midway fails; a watch may be silent. */
  stream(call: Call): Promise<AsyncIterable<Uint8Array>> {
    return this.#retrying(call, async () => {
      if (call.verb === "watch") return errorsOf(call, (await this.#send(call, call.signal)).body);
      const stop = new AbortController();
      const follow = (): void => stop.abort(call.signal.reason);
      call.signal.addEventListener("abort", follow, { once: true });
      const release = (): void => call.signal.removeEventListener("abort", follow);
      const stall = new IdleTimer(this.#ambient.clock, call.timeout, () => stop.abort(tooSlow(call)));
      try {
        return errorsOf(call, watched((await this.#send(call, stop.signal)).body, stall, release));
      } catch (error) {
        release();
        throw error;
      }
    });
  }

  async #retrying<Answer>(call: Call, attempt: () => Promise<Answer>): Promise<Answer> {
    const patience = call.patience ?? call.signal;
    for (let retries = 0, resets = 0; ; retries++) {
      if (call.verb !== "watch") await this.#parts.limiter.take(patience, call.lane);
      let wait: Millis | undefined;
      try {
        return await attempt();
      } catch (thrown) {
        const error = apiErrorOf(call, thrown);
        if (isAskedAgain(error) && retries < mostRetries) wait = error.retryAfter;
        else if (call.method === "GET" && error.status === 0 && error.reason === "Reset" && resets++ === 0) {
          wait = afterReset;
        }
        if (wait === undefined) throw error;
        this.#ambient.log.debug("request is tried again", { verb: call.verb, target: call.target, wait, error });
      }
      await sleep(this.#ambient.clock, wait, patience);
      patience.throwIfAborted();
    }
  }

  async #send(call: Call, signal: AbortSignal): Promise<HttpResponse> {
    const { transport, traffic, permissions } = this.#parts;
    const { method, path, headers, body, guard, timeout } = call;
    const name = resourceName(call.resource);
    const response = await transport({
      method,
      path,
      headers,
      signal,
      timeout,
      ...(body === undefined ? {} : { body }),
      guard: () => {
        guard?.();
        traffic.sent(name, call.verb, path.length + Buffer.byteLength(body ?? ""));
      },
    });
    const counted = {
      ...response,
      body: countedBody(response, (bytes) => traffic.received(name, call.verb, bytes)),
    };
    if (response.status >= 200 && response.status < 300) {
      permissions?.granted(call);
      return counted;
    }
    const error = refusedWith(call, response.status, response.headers, await bytesOf(counted.body, longestRefusal));
    if (error.status === 403) permissions?.refused(call, error);
    else if (pastAuthorization.includes(error.status)) permissions?.granted(call);
    throw error;
  }
}

/** Statuses that only an authorized request gets; a busy server answers 429 and 503 before it authorizes. */
const pastAuthorization: readonly number[] = [404, 409, 410, 422];

/**
 * Upstream's rule (client-go 1.36): 429 and 5xx are retried only with a Retry-After. Not so a resourceVersion that the
 * server has not reached: the code that lists has a better answer than to repeat the request.
 */
const isAskedAgain = (error: ApiError): boolean =>
  error.retryAfter !== undefined && (error.status === 429 || error.status >= 500) && !isTooLargeResourceVersion(error);

/** Turns a missing answer into an ApiError with status 0; anything else (abort, a guard's error) passes. */
function apiErrorOf(attempt: Attempt, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TransportError) {
    return new ApiError(attempt, {
      status: 0,
      reason: error.reason,
      message: error.message,
      hint: error.hint,
    });
  }
  if (error instanceof CredentialsError) {
    return new ApiError(attempt, {
      status: 0,
      reason: "Credentials",
      message: error.message,
      cause: error.cause,
      hint: error.hint,
    });
  }
  throw error;
}

/** For a successful answer that cannot be used. */
export const unreadable = (attempt: Attempt, why: string): ApiError =>
  new ApiError(attempt, { status: 0, reason: "Unreadable", message: why });

const tooSlow = ({ timeout }: Call): TransportError =>
  new TransportError("Timeout", `no answer within ${Math.round(timeout / 1000)}s`);

async function* errorsOf(attempt: Attempt, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* body;
  } catch (error) {
    throw apiErrorOf(attempt, error);
  }
}

async function* watched(
  body: AsyncIterable<Uint8Array>,
  stall: IdleTimer,
  release: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  stall.start();
  try {
    for await (const chunk of body) {
      stall.touch();
      yield chunk;
    }
  } finally {
    stall.stop();
    release();
  }
}

async function* countedBody(
  { body, received }: HttpResponse,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, void> {
  let before = 0;
  const settle = (now: number): void => {
    count(now - before);
    before = now;
  };
  try {
    for await (const chunk of body) {
      settle(received ? received() : before + chunk.length);
      yield chunk;
    }
  } finally {
    if (received) settle(received());
  }
}

async function bytesOf(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limit) break;
  }
  return Buffer.concat(chunks).subarray(0, limit);
}
