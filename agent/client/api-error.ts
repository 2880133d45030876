import type { Millis } from "../base/clock.ts";
import { type Disposition, type HasDisposition, hintOf } from "../base/errors.ts";
import { TransportError } from "./transport-error.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "evict" | "bind";

/** The verb and its target: "patch", "node pi-3 status". */
export interface Attempt {
  readonly verb: Verb;
  readonly target: string;
}

export interface StatusCause {
  readonly reason: string;
  readonly message: string;
}

interface Refusal {
  /** The HTTP status; 0 if there was no readable answer. */
  readonly status: number;
  /** Kubernetes' reason ("Conflict", "Expired"), or for status 0 what happened ("Timeout", "Reset", ...). */
  readonly reason: string;
  readonly message: string;
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
  }
}

const is =
  (...reasons: readonly string[]) =>
  (error: unknown): error is ApiError =>
    error instanceof ApiError && reasons.includes(error.reason);

export const isNotFound = is("NotFound");
export const isForbidden = is("Forbidden");
export const isUnauthorized = is("Unauthorized");
export const isInternalError = is("InternalError");
/** Another writer was faster: nothing was written. */
export const isOvertaken = is("Conflict", "AlreadyExists");
/** No answer, or our credentials were not accepted. The link's own watcher reports these, once for all users. */
export const isOfLink = (error: unknown): boolean =>
  error instanceof TransportError ||
  isUnauthorized(error) ||
  (error instanceof ApiError && error.status === 0 && error.reason !== "Unreadable");
/** The server no longer has the history that a watch or a paged list needs. */
export const isGone = is("Gone", "Expired");

/** The server has not reached this resourceVersion: the replica is behind, or etcd was restored from a backup. */
export const isTooLargeResourceVersion = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (error.causes.some(({ reason }) => reason === "ResourceVersionTooLarge") ||
    (error.status !== 0 &&
      error.reason === "Timeout" &&
      (error.message.includes("Too large resource version") ||
        error.causes.some(({ message }) => message.includes("Too large resource version")))));

/** Retries do not help: the request itself is wrong, or not allowed. */
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
