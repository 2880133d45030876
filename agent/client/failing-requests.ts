import type { KubeObject } from "../api/meta.ts";
import { pods, type Resource, resourceName } from "../api/resources.ts";
import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { type ApiError, isTooLargeResourceVersion, type Verb } from "./api-error.ts";

/** The part of a request by which it is counted. */
export interface CountedCall {
  readonly verb: Verb;
  readonly resource: Resource<KubeObject>;
  readonly path: string;
}

/** Failures in a row. */
export interface Failures {
  readonly since: Instant;
  readonly last: Instant;
  readonly count: number;
}

/** A kind of request that has not succeeded since the first of these failures. */
export interface FailingKind extends Failures {
  /** Verb and resource: "delete pods". */
  readonly kind: string;
  readonly error: ApiError;
  /** The failures that only the API server or the link can have caused; undefined if there were none. */
  readonly ofServer: Failures | undefined;
}

interface Row extends FailingKind {
  readonly suspect: string | undefined;
}

/**
 * Failures further apart are not counted together, because requests of that kind are rare, and the cause may have
 * passed in between.
 */
const maxGap: Millis = 300_000;

/**
 * Counts failures of the requests without which a leader cannot judge boards or evict pods, by verb and resource. A
 * failure counts only if the server or the link may be at fault, not if a webhook refused the request.
 */
export class FailingRequests {
  readonly #clock: Clock;
  /** By kind; there are fewer than ten. */
  readonly #rows = new Map<string, Row>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The server accepted the request. */
  succeeded(call: CountedCall): void {
    const kind = kindOf(call);
    if (kind !== undefined) this.#rows.delete(kind);
  }

  failed(call: CountedCall, error: ApiError): void {
    const kind = kindOf(call);
    if (kind === undefined) return;
    const blame = blameFor(call, error);
    if (blame === "none") this.#rows.delete(kind);
    if (blame === "none" || blame === "unclear") return;
    const now = this.#clock.now();
    const row = this.#rows.get(kind);
    const before = row && elapsed(row.last, now) < maxGap ? row : undefined;
    const { suspect } = blame;
    const isOfServer = suspect === undefined || (before?.suspect !== undefined && before.suspect !== suspect);
    this.#rows.set(kind, {
      kind,
      error,
      ...after(before, now),
      ofServer: isOfServer ? after(before?.ofServer, now) : before?.ofServer,
      suspect: before?.suspect ?? suspect,
    });
  }

  /** Forgets the failing kinds for which `isPast` returns true. */
  forget(isPast: (failing: FailingKind) => boolean): void {
    for (const row of this.#rows.values()) if (isPast(row)) this.#rows.delete(row.kind);
  }

  /** The failing kinds, in the order of their first failures. */
  list(now: Instant): readonly FailingKind[] {
    return [...this.#rows.values()]
      .filter(({ last }) => elapsed(last, now) < maxGap)
      .sort((a, b) => elapsed(b.since, a.since));
  }
}

const after = (before: Failures | undefined, now: Instant): Failures => ({
  since: before?.since ?? now,
  last: now,
  count: (before?.count ?? 0) + 1,
});

/**
 * The requests that count. Writes to workloads do not, because tenants can make them fail, and boards are judged
 * without them.
 */
const counted: ReadonlySet<string> = new Set([
  "get nodes",
  "patch nodes",
  "patch nodes/status",
  "get leases.coordination.k8s.io",
  "get pods",
  "list pods",
  "watch pods",
  "delete pods",
]);

function kindOf({ verb, resource, path }: CountedCall): string | undefined {
  const kind = `${verb} ${resourceName(resource)}${path.endsWith("/status") ? "/status" : ""}`;
  return counted.has(kind) ? kind : undefined;
}

/**
 * The conclusion from a failure. "none": the server works and refused this request. "unclear": nothing can be
 * concluded. Otherwise, the server or the link may be at fault; `suspect` names an object or a namespace that may be at
 * fault instead.
 */
type Blame = "none" | "unclear" | { readonly suspect: string | undefined };

function blameFor(call: CountedCall, error: ApiError): Blame {
  const { status, reason, message } = error;
  if (status === 401 || unclear.has(reason) || isTooLargeResourceVersion(error) || ofWebhook.test(message)) {
    return "unclear";
  }
  if (status !== 0 && status < 500 && status !== 429) return "none";
  return { suspect: suspectOf(call, error) };
}

const unclear: ReadonlySet<string> = new Set(["Unreadable", "Credentials", "RequestEntityTooLarge"]);

/** The API server puts this in front of a webhook's answer, or of the reason why there was none. */
const ofWebhook = /admission webhook "|failed calling webhook/;

/**
 * The object or namespace that may be at fault instead of the server. A namespace's owner can make webhooks slow or
 * pods large: a deletion, a list or a read of pods then times out. Failed deletions in two namespaces rule that out. A
 * single object may be unreadable.
 */
function suspectOf({ verb, resource, path }: CountedCall, { reason, isOfOneObject }: ApiError): string | undefined {
  if (resourceName(resource) === resourceName(pods)) {
    if (reason === "Timeout" && verb === "delete") return path.split("/").slice(0, -1).join("/");
    return (reason === "Timeout" && verb !== "watch") || isOfOneObject ? "pods" : undefined;
  }
  return isOfOneObject ? path : undefined;
}
