import { parserOf } from "../api/exact-integers.ts";
import type { KubeObject } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, type Millis, sleep } from "../base/clock.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import { PrioritySemaphore } from "../base/concurrency/priority-semaphore.ts";
import { ApiError, type Attempt, isTooLargeResourceVersion } from "./api-error.ts";
import { CredentialsError } from "./credentials/credentials-error.ts";
import { exceededLimit } from "./decoding/crowded.ts";
import { type MemberFilter, reducedHead } from "./decoding/reduce.ts";
import type { FailingRequests } from "./failing-requests.ts";
import { BodyTooLarge } from "./json-text.ts";
import type { Permissions } from "./permissions.ts";
import type { Allowance } from "./request-limiter.ts";
import { refusedWith } from "./status-document.ts";
import type { Traffic } from "./traffic.ts";
import { IdleTimer } from "./transport/idle-timer.ts";
import type { HttpRequest, HttpResponse, Transport } from "./transport/transport.ts";
import { TransportError } from "./transport/transport-error.ts";

/** One request, before authentication and transport. */
export interface ApiCall extends Attempt {
  readonly resource: Resource<KubeObject>;
  readonly method: HttpRequest["method"];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Builds the body again on each call, because it may be large and is held only while the request is in flight. */
  readonly body?: () => string;
  readonly signal: AbortSignal;
  /** Ends waits for the rate limiter and between attempts; does not abort a request already sent. Default: `signal`. */
  readonly patience?: AbortSignal | undefined;
  readonly lane?: Lane | undefined;
  /** See `HttpRequest.guard`. */
  readonly guard?: (() => void) | undefined;
  /** See `Refusable`. */
  readonly refused?: ((error: ApiError) => void) | undefined;
  /**
   * The time limit of each attempt: for `answer` until the whole response has arrived, for `stream` until its headers
   * have, and then between the chunks of a list.
   */
  readonly timeout: Millis;
  /**
   * The fields to read from a long response, of which only the beginning is read; undefined if the whole response is
   * needed.
   */
  readonly kept?: MemberFilter | undefined;
}

interface ExchangeDeps {
  readonly transport: Transport;
  readonly limiter: Allowance;
  readonly traffic: Traffic;
  /** Records forbidden requests; undefined for a client whose missing permissions are not reported. */
  readonly permissions?: Permissions;
  /** Counts outcomes; undefined for a client whose requests are not counted. */
  readonly failing?: Pick<FailingRequests, "succeeded" | "failed">;
}

/**
 * At most `maxLarge` requests with a body of more than `largeBody` characters are in flight at a time, and at most as
 * many responses of more than `largeBody` bytes are read at a time.
 */
const maxLarge = 2;
const largeBody = 256 * 1024;

const maxRetries = 10;
const resetPause: Millis = 1000;
/**
 * Maximum lengths of the bodies of errors and of responses, in bytes. Errors have a few hundred bytes; an object has up
 * to 1.5 MiB, which is etcd's limit unless it was raised.
 */
const maxRefusalLength = 65_536;
const maxAnswerLength = 16 * 1024 * 1024;
/**
 * How many bytes at the beginning of a response are read, enough for the object's whole identity. The server writes
 * metadata in a fixed order, with name, namespace, uid and resourceVersion before the fields that users may fill.
 */
const maxHeadLength = 65_536;

/**
 * Sends requests at the permitted rate, retries them if the server asks for it, and counts their traffic. Every failure
 * becomes an ApiError, except that an aborted call throws the signal's reason and a guard's error is passed on.
 */
export class Exchange {
  readonly #ambient: Ambient;
  readonly #deps: ExchangeDeps;
  readonly #large = new PrioritySemaphore(maxLarge);
  readonly #largeAnswers = new PrioritySemaphore(maxLarge);

  constructor(ambient: Ambient, deps: ExchangeDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** Returns the parsed response. */
  answer(call: ApiCall): Promise<unknown> {
    const { clock } = this.#ambient;
    return this.#retrying(call, async (body) => {
      const limit = deadline(clock, call.timeout, call.signal, () => timeoutError(call));
      try {
        const answer = (await this.#send(call, body, limit.signal)).body;
        return await (call.kept ? beginningOf(answer, call.kept) : this.#whole(call, answer, limit.signal));
      } catch (error) {
        if (error instanceof SyntaxError) throw unreadable(call, "the response is not JSON");
        throw error;
      } finally {
        limit.dispose();
      }
    });
  }

  /**
   * Parses the whole response. An object may take 16 MB as JSON, so only a few large responses are in memory at a time.
   */
  async #whole(call: ApiCall, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<unknown> {
    let isLarge = false;
    try {
      const bytes = await bytesOf(body, maxAnswerLength, async (length) => {
        if (isLarge || length <= largeBody) return;
        if (!(await this.#largeAnswers.acquire(signal, call.lane))) throw signal.reason;
        isLarge = true;
      });
      const text = bytes.toString();
      // Four times a watch's limit, because the response to our own write includes fields added by the server, and must
      // still be readable.
      if (bytes.length < maxAnswerLength && exceededLimit(text, 4) === undefined) return parserOf(call.resource)(text);
      throw unreadable(call, "the response has too many fields");
    } finally {
      if (isLarge) this.#largeAnswers.release(call.lane);
    }
  }

  /** Returns the body once the headers have arrived. A list fails if it stalls; a watch may stay silent. */
  stream(call: ApiCall): Promise<AsyncIterable<Uint8Array>> {
    return this.#retrying(call, async (body) => {
      if (call.verb === "watch") return errorsOf(call, (await this.#send(call, body, call.signal)).body);
      const stop = new AbortController();
      const follow = (): void => stop.abort(call.signal.reason);
      call.signal.addEventListener("abort", follow, { once: true });
      const release = (): void => call.signal.removeEventListener("abort", follow);
      const stall = new IdleTimer(this.#ambient.clock, call.timeout, () => stop.abort(timeoutError(call)));
      try {
        return errorsOf(call, watched((await this.#send(call, body, stop.signal)).body, stall, release));
      } catch (error) {
        release();
        throw error;
      }
    });
  }

  async #retrying<Answer>(call: ApiCall, attempt: (body: string | undefined) => Promise<Answer>): Promise<Answer> {
    const patience = call.patience ?? call.signal;
    for (let retries = 0, resets = 0; ; retries++) {
      if (call.verb !== "watch") await this.#deps.limiter.take(patience, call.lane);
      let wait: Millis | undefined;
      try {
        const answer = await this.#withBody(call, attempt);
        this.#deps.failing?.succeeded(call);
        return answer;
      } catch (thrown) {
        const error = apiErrorOf(call, thrown);
        this.#deps.failing?.failed(call, error);
        if (isRetryable(error) && !isBudget(call, error) && retries < maxRetries) {
          wait = error.retryAfter;
          call.refused?.(error);
        } else if (call.method === "GET" && error.status === 0 && error.reason === "Reset" && resets++ === 0) {
          wait = resetPause;
        }
        if (wait === undefined) throw error;
        this.#ambient.log.debug("retrying request", { verb: call.verb, target: call.target, wait, error });
      }
      await sleep(this.#ambient.clock, wait, patience);
      patience.throwIfAborted();
    }
  }

  /**
   * Lets only a few large bodies be in memory at a time. The pods of a DaemonSet share one template object, but the
   * request body of each is a separate string of up to 1.5 MB.
   */
  async #withBody<Answer>(call: ApiCall, attempt: (body: string | undefined) => Promise<Answer>): Promise<Answer> {
    const { signal, patience = signal, lane } = call;
    const small = smallBody(call);
    if (small) return await attempt(small.text);
    if (!(await this.#large.acquire(patience, lane))) throw patience.reason;
    try {
      return await attempt(call.body?.());
    } finally {
      this.#large.release(lane);
    }
  }

  async #send(call: ApiCall, body: string | undefined, signal: AbortSignal): Promise<HttpResponse> {
    const { transport, traffic, permissions } = this.#deps;
    const { method, path, headers, guard, timeout } = call;
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
    const error = refusedWith(call, response.status, response.headers, await bytesOf(counted.body, maxRefusalLength));
    if (error.status === 403) permissions?.refused(call, error);
    else if (pastAuthorization.includes(error.status)) permissions?.granted(call);
    throw error;
  }
}

/** Statuses that prove that a request was authorized. A busy server sends 429 and 503 before it authorizes. */
const pastAuthorization: readonly number[] = [404, 409, 410, 422];

/**
 * As in client-go 1.36, 429 and 5xx are retried only with a Retry-After. A resourceVersion that the server does not
 * have yet is not retried here, because the caller that lists reacts to it better.
 */
const isRetryable = (error: ApiError): boolean =>
  error.retryAfter !== undefined && (error.status === 429 || error.status >= 500) && !isTooLargeResourceVersion(error);

/** Whether a disruption budget refuses an eviction. The caller goes on with other pods instead of waiting for this one. */
const isBudget = ({ verb }: ApiCall, { status }: ApiError): boolean => verb === "evict" && status === 429;

/**
 * Converts failures of transport and credentials to an ApiError with status 0, and a body that is too large to send to
 * the error with which the server would refuse it. Rethrows all other errors.
 */
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
  if (error instanceof BodyTooLarge) {
    return new ApiError(attempt, {
      status: 413,
      reason: "RequestEntityTooLarge",
      message: `Request entity too large: ${error.message}`,
    });
  }
  throw error;
}

/** The error for a successful response that cannot be used. */
export const unreadable = (attempt: Attempt, why: string): ApiError =>
  new ApiError(attempt, { status: 0, reason: "Unreadable", message: why });

const timeoutError = ({ timeout }: ApiCall): TransportError =>
  new TransportError("Timeout", `no response within ${Math.round(timeout / 1000)}s`);

/**
 * The body if it is small; undefined if it is large. A large body is not held during the wait, but rebuilt when the
 * request may be sent.
 */
function smallBody({ body }: ApiCall): { readonly text: string | undefined } | undefined {
  const text = body?.();
  return text === undefined || text.length <= largeBody ? { text } : undefined;
}

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

/** Parses a response. If it is longer than `maxHeadLength`, parses only the kept members at its beginning. */
async function beginningOf(body: AsyncIterable<Uint8Array>, kept: MemberFilter): Promise<unknown> {
  const bytes = await bytesOf(body, maxHeadLength);
  const text = bytes.toString();
  return JSON.parse(bytes.length < maxHeadLength ? text : (reducedHead(text, kept) ?? ""));
}

/** The first `limit` bytes. `onLength` is called before more is read. */
async function bytesOf(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  onLength?: (length: number) => Promise<void>,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > limit) break;
    await onLength?.(length);
  }
  return Buffer.concat(chunks).subarray(0, limit);
}
