import { isFields, type ParsedFields } from "../api/shape-rules.ts";
import type { Millis } from "../base/clock.ts";
import { ApiError, type Attempt, type StatusCause } from "./api-error.ts";
import { statusMessage } from "./decoding/status-message.ts";

/**
 * The longest wait that a server or proxy can request. A maintenance page that requests an hour must not blind a leader
 * for that long, because the leader would keep renewing its Lease, so no other board would take over.
 */
const maxRetryAfter: Millis = 30_000;

/** The reason for each HTTP status, used if the Status document names none; as in client-go 1.36. */
const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/**
 * The server reports an internal error for an object that is too large for etcd (more than 1.5 MiB by default) or for
 * its connection to etcd (more than 2 MiB).
 */
const beyondEtcd = /etcdserver: request is too large|trying to send message larger than max/;

/** The error for a response other than 2xx. `body`: the beginning of the response's body. */
export function refusedWith(
  attempt: Attempt,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): ApiError {
  const text = body.toString();
  const document = statusMessage(body) ?? statusDocument(text);
  const retryAfter = /^\d{1,9}$/.test(headers["retry-after"] ?? "")
    ? waitOf(Number(headers["retry-after"]))
    : undefined;
  if (document !== undefined) return refusal(attempt, { ...document, code: status }, retryAfter);
  const message = `HTTP ${status} ${text.slice(0, 200).trim()}`.trim();
  if (status === 401 || status === 429 || status >= 500) return refusal(attempt, { code: status, message }, retryAfter);
  // Only a Status of the API server proves that the object is gone; a gateway's "404 Not Found" page does not.
  return new ApiError(attempt, {
    status,
    reason: "NotKubernetes",
    message,
    hint: "This is not the response of a Kubernetes API server: check the server address in the kubeconfig, and the proxy.",
  });
}

/** The error for an ERROR event of a watch. `status`: its object, a Status. */
export function brokenOffWith(attempt: Attempt, status: unknown): ApiError {
  const document = isFields(status) ? status : {};
  const seconds = isFields(document.details) ? document.details.retryAfterSeconds : undefined;
  return refusal(attempt, document, typeof seconds === "number" && seconds > 0 ? waitOf(seconds) : undefined);
}

const waitOf = (seconds: number): Millis => Math.min(seconds * 1000, maxRetryAfter);

function refusal(attempt: Attempt, document: ParsedFields, retryAfter: Millis | undefined): ApiError {
  const details = isFields(document.details) ? document.details : {};
  const status = typeof document.code === "number" ? document.code : 0;
  const stated = typeof document.reason === "string" && document.reason !== "" ? document.reason : reasonFor(status);
  const message = typeof document.message === "string" && document.message !== "" ? document.message : stated;
  const reason = status === 500 && beyondEtcd.test(message) ? "RequestEntityTooLarge" : stated;
  return new ApiError(attempt, {
    status,
    reason,
    message,
    retryAfter,
    causes: causesOf(details.causes),
    hint: hintFor(reason, message),
  });
}

const reasonFor = (status: number): string => reasons[status] ?? (status >= 500 ? "InternalError" : "Unknown");

function statusDocument(text: string): ParsedFields | undefined {
  try {
    const document: unknown = JSON.parse(text);
    return isFields(document) && document.kind === "Status" ? document : undefined;
  } catch {
    return undefined;
  }
}

function causesOf(causes: unknown): readonly StatusCause[] {
  if (!Array.isArray(causes)) return [];
  return causes.slice(0, 20).flatMap((cause: unknown) => {
    if (!isFields(cause)) return [];
    const { reason, message } = cause;
    return [{ reason: typeof reason === "string" ? reason : "", message: typeof message === "string" ? message : "" }];
  });
}

function hintFor(reason: string, message: string): string | undefined {
  if (reason === "Unauthorized") {
    return "The API server does not accept our token or client certificate: renew it, and check this board's clock.";
  }
  // An exhausted quota or a terminating namespace also causes Forbidden, which no permission would fix.
  if (reason === "Forbidden" && message.includes(" cannot ")) {
    return "Grant this to the agent's user with a ClusterRole and a ClusterRoleBinding.";
  }
  return undefined;
}
