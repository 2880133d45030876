import { type Fields, isFields } from "../api/shape-rules.ts";
import type { Millis } from "../base/clock.ts";
import { ApiError, type Attempt, type StatusCause } from "./api-error.ts";
import { statusMessage } from "./status-message.ts";

/** The reason for an HTTP status if a Status document names none, as in client-go 1.36. */
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

/** The error for an answer other than 2xx. `body`: as much as was read. */
export function refusedWith(
  attempt: Attempt,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): ApiError {
  const text = body.toString();
  const document = statusMessage(body) ?? statusDocument(text);
  const retryAfter = /^\d{1,9}$/.test(headers["retry-after"] ?? "") ? Number(headers["retry-after"]) * 1000 : undefined;
  if (document !== undefined) return refusal(attempt, { ...document, code: status }, retryAfter);
  const message = `HTTP ${status} ${text.slice(0, 200).trim()}`.trim();
  if (status === 401 || status === 429 || status >= 500) return refusal(attempt, { code: status, message }, retryAfter);
  // A gateway's "not found" page says nothing about our objects, least of all that they are gone: only a Status of the
  // API server itself may.
  return new ApiError(attempt, {
    status,
    reason: "NotKubernetes",
    message,
    hint: "This is no answer of a Kubernetes API server: compare the server address in the kubeconfig, and the proxy.",
  });
}

/** The error for an ERROR event in a watch stream, which has only a Status. */
export function brokenOffWith(attempt: Attempt, status: unknown): ApiError {
  const document = isFields(status) ? status : {};
  const seconds = isFields(document.details) ? document.details.retryAfterSeconds : undefined;
  return refusal(attempt, document, typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined);
}

function refusal(attempt: Attempt, document: Fields, retryAfter: Millis | undefined): ApiError {
  const details = isFields(document.details) ? document.details : {};
  const status = typeof document.code === "number" ? document.code : 0;
  const reason = typeof document.reason === "string" && document.reason !== "" ? document.reason : reasonFor(status);
  const message = typeof document.message === "string" && document.message !== "" ? document.message : reason;
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

function statusDocument(text: string): Fields | undefined {
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
    return "The API server does not accept our token or client certificate: renew it, and compare this board's clock.";
  }
  // A full quota or a terminating namespace is Forbidden too; there, no grant helps.
  if (reason === "Forbidden" && message.includes(" cannot ")) {
    return "Grant this to the agent's user with a ClusterRole and a ClusterRoleBinding.";
  }
  return undefined;
}
