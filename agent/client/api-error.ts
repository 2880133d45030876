import type { Millis } from "../base/clock.ts";
import { type Disposition, type HasDisposition, hintOf } from "../base/errors.ts";
import { TransportError } from "./transport/transport-error.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "evict" | "bind";

/** The operation that a request attempted, for messages. `target`: "node pi-3 status". */
export interface Attempt {
  readonly verb: Verb;
  readonly target: string;
}

export interface StatusCause {
  readonly reason: string;
  readonly message: string;
}

interface Refusal {
  /** The HTTP status; 0 if there was no readable response. */
  readonly status: number;
  /**
   * The reason in Kubernetes' words ("Conflict", "Expired"); for status 0, that of the failure ("Timeout", "Reset").
   */
  readonly reason: string;
  readonly message: string;
  /** The response's Retry-After, at most 30 s; undefined if it has none. */
  readonly retryAfter?: Millis | undefined;
  readonly causes?: readonly StatusCause[];
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

/** A request to the site API that failed. */
export class ApiError extends Error implements HasDisposition {
  override readonly name = "ApiError";
  readonly verb: Verb;
  readonly target: string;
  readonly status: number;
  readonly reason: string;
  readonly retryAfter: Millis | undefined;
  readonly causes: readonly StatusCause[];
  readonly hint: string | undefined;
  readonly disposition: Disposition;
  /**
   * Whether perhaps only this object is unreadable, to the agent or to the server, while others can be read. A server
   * whose etcd does not respond uses the same status, but another message.
   */
  readonly isOfOneObject: boolean;

  constructor({ verb, target }: Attempt, refusal: Refusal) {
    super(`${verb} ${target}: ${refusal.message}`, refusal.cause === undefined ? {} : { cause: refusal.cause });
    this.verb = verb;
    this.target = target;
    this.status = refusal.status;
    this.reason = refusal.reason;
    this.retryAfter = refusal.retryAfter;
    this.causes = refusal.causes ?? [];
    this.hint = refusal.hint ?? hintOf(refusal.cause);
    this.disposition = dispositionFor(verb, refusal);
    const isServersRead = refusal.status === 500 && !refusal.message.includes("etcdserver:");
    this.isOfOneObject = verb === "get" && (refusal.reason === "Unreadable" || isServersRead);
  }
}

const is =
  (...reasons: readonly string[]) =>
  (error: unknown): error is ApiError =>
    error instanceof ApiError && reasons.includes(error.reason);

export const isNotFound = is("NotFound");
export const isForbidden = is("Forbidden");
const isUnauthorized = is("Unauthorized");
export const isInternalError = is("InternalError");
/** The write was refused because another writer was faster. */
export const isOvertaken = is("Conflict", "AlreadyExists");
/** There was no response, or the credentials were not accepted. `ApiLink` reports these errors; callers need not. */
export const isOfLink = (error: unknown): boolean =>
  error instanceof TransportError ||
  isUnauthorized(error) ||
  (error instanceof ApiError && error.status === 0 && error.reason !== "Unreadable");
/** The server no longer has the history that a watch or a paged list needs. */
export const isGone = is("Gone", "Expired");

/**
 * The server does not have this resourceVersion yet, because its replica is behind, or etcd was restored from a backup.
 */
export const isTooLargeResourceVersion = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (error.causes.some(({ reason }) => reason === "ResourceVersionTooLarge") ||
    (error.status !== 0 &&
      error.reason === "Timeout" &&
      (error.message.includes("Too large resource version") ||
        error.causes.some(({ message }) => message.includes("Too large resource version")))));

/** Reasons for which retries do not help: the request itself is invalid, or not allowed. */
const final: readonly string[] = [
  "Invalid",
  "Forbidden",
  "BadRequest",
  "MethodNotAllowed",
  "NotAcceptable",
  "UnsupportedMediaType",
  "RequestEntityTooLarge",
];

function dispositionFor(verb: Verb, { reason }: Refusal): Disposition {
  if (reason === "Conflict" || reason === "AlreadyExists") return "refresh";
  if (reason === "Gone" || reason === "Expired") return "relist";
  if (reason === "NotFound") return verb === "delete" || verb === "evict" ? "done" : "refresh";
  return final.includes(reason) ? "drop" : "retry";
}
