import { type ApiResponse, response } from "./exchange.ts";
import type { Problem } from "./problems.ts";

interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

interface Described {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: Details;
  /** For an expired list, the token to continue it at the newest revision. */
  readonly continue?: string;
}

/** The name of a kind in a message: its plural, or the kind itself if the API refers to the type. */
interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** A request that cannot be fulfilled; reported as a Status document. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: number;
  readonly #described: Described;

  constructor(described: Described) {
    super(described.message);
    this.code = described.code;
    this.#described = described;
  }

  /** The Status, both as a document and as the object of a watch's ERROR event. */
  status(): object {
    const { code, reason, message, details, continue: token } = this.#described;
    const metadata = token === undefined ? {} : { continue: token };
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata,
      status: "Failure",
      message,
      reason,
      ...(details && { details }),
      code,
    };
  }

  response(): ApiResponse {
    const wait = this.#described.details?.retryAfterSeconds;
    return response(
      this.code,
      JSON.stringify(this.status()),
      wait === undefined ? {} : { "retry-after": String(wait) },
    );
  }
}

const groupOf = (group: string): { group?: string } => (group === "" ? {} : { group });
const qualified = (group: string, name: string): string => (group === "" ? name : `${name}.${group}`);
const detailsOf = ({ group, plural }: Named, name: string): Details => ({ name, ...groupOf(group), kind: plural });

export const badRequest = (message: string): Failure => new Failure({ code: 400, reason: "BadRequest", message });

export const notFound = (of: Named, name: string): Failure =>
  new Failure({
    code: 404,
    reason: "NotFound",
    message: `${qualified(of.group, of.plural)} "${name}" not found`,
    details: detailsOf(of, name),
  });

export const noSuchResource = (): Failure =>
  new Failure({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });

export const methodNotAllowed = (): Failure =>
  new Failure({
    code: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });

export const alreadyExists = (of: Named, name: string): Failure => taken(of, name, "");

/** A failure for a name that will become free, because its object is being deleted. */
export const beingDeleted = (of: Named, name: string): Failure => taken(of, name, "object is being deleted: ");

const taken = (of: Named, name: string, why: string): Failure =>
  new Failure({
    code: 409,
    reason: "AlreadyExists",
    message: `${why}${qualified(of.group, of.plural)} "${name}" already exists`,
    details: detailsOf(of, name),
  });

export const conflict = (of: Named, name: string, why: string): Failure =>
  new Failure({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualified(of.group, of.plural)} "${name}": ${why}`,
    details: detailsOf(of, name),
  });

export const modified = (of: Named, name: string): Failure =>
  // The exact words of the real server, because scripts match them.
  conflict(of, name, "the object has been modified; please apply your changes to the latest version and try again");

export const forbidden = (of: Named, name: string, why: string, causes?: readonly Cause[]): Failure =>
  new Failure({
    code: 403,
    reason: "Forbidden",
    message: `${qualified(of.group, of.plural)} "${name}" is forbidden: ${why}`,
    details: { ...detailsOf(of, name), ...(causes && { causes }) },
  });

export function invalid(
  of: { readonly group: string; readonly kind: string },
  name: string,
  problems: readonly Problem[],
): Failure {
  const sentences = problems.map(({ field, message }) => `${field}: ${message}`);
  const [only] = sentences;
  return new Failure({
    code: 422,
    reason: "Invalid",
    message: `${qualified(of.group, of.kind)} "${name}" is invalid: ${sentences.length === 1 ? only : `[${sentences.join(", ")}]`}`,
    details: { ...(name === "" ? {} : { name }), ...groupOf(of.group), kind: of.kind, causes: problems },
  });
}

/** A failure for request options that contradict each other or do not exist. */
export const invalidOptions = (kind: string, problems: readonly Problem[]): Failure =>
  invalid({ group: "meta.k8s.io", kind }, "", problems);

export const inapplicablePatch = (why: string): Failure =>
  new Failure({ code: 422, reason: "Invalid", message: `the patch cannot be applied: ${why}`, details: {} });

export const unsupportedMediaType = (accepted: readonly string[]): Failure =>
  new Failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  });

export const notAcceptable = (offered: readonly string[]): Failure =>
  new Failure({
    code: 406,
    reason: "NotAcceptable",
    message: `only the following media types are accepted: ${offered.join(", ")}`,
  });

export const tooLargeBody = (limit: number): Failure =>
  new Failure({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `the body of the request is too large: the limit is ${limit} bytes`,
  });

/** A failure for a client that should try again, in `seconds` if that is known. */
export const tooManyRequests = (message: string, cause: Cause, seconds?: number): Failure =>
  new Failure({
    code: 429,
    reason: "TooManyRequests",
    message,
    details: { causes: [cause], ...(seconds !== undefined && { retryAfterSeconds: seconds }) },
  });

export const expired = (message: string, token?: string): Failure =>
  new Failure({ code: 410, reason: "Expired", message, ...(token !== undefined && { continue: token }) });

/** A failure for a resourceVersion above the newest. Clients recognise it by the message or the reason of its cause. */
export const tooLargeResourceVersion = (asked: number, current: number): Failure =>
  new Failure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });

export const notImplemented = (message: string): Failure =>
  new Failure({ code: 501, reason: "NotImplemented", message });

export const unavailable = (message: string): Failure =>
  new Failure({ code: 503, reason: "ServiceUnavailable", message, details: { retryAfterSeconds: 1 } });

export const internalError = (message: string): Failure =>
  new Failure({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${message}`,
    details: { causes: [{ reason: "", message }] },
  });
