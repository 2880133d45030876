import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { ApiError } from "./api-error.ts";

/** A permission that the agent's user lacks, in the terms of RBAC. */
export interface MissingPermission {
  readonly user: string;
  /** "list", "watch", "patch", … */
  readonly verb: string;
  /** "nodes", "nodes/status", "leases" */
  readonly resource: string;
  /** "" for the core group. */
  readonly group: string;
  /** The namespace in which the permission is needed; undefined for the whole cluster. */
  readonly namespace: string | undefined;
}

/** A request. Permissions depend on its verb, resource and namespace, not on the object's name. */
export interface PermissionRequest {
  readonly verb: string;
  readonly path: string;
}

/** Maximum number of missing permissions that are kept; a single fix usually grants many. */
const maxShown = 12;

/** A missing permission is dropped if no request has needed it for this long. */
const forgottenAfter: Millis = 3_600_000;

/** Remembers forbidden requests until one of the same kind succeeds. */
export class Permissions {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #missing = new Map<string, { readonly what: MissingPermission; at: Instant }>();

  /** `changed` is called when a permission becomes missing or is granted. */
  constructor(deps: { readonly clock: Clock; readonly changed: () => void }) {
    this.#clock = deps.clock;
    this.#changed = deps.changed;
  }

  /** Records that a request was authorized, even if it failed for another reason. */
  granted(request: PermissionRequest): void {
    if (this.#missing.size > 0 && this.#missing.delete(kindOf(request))) this.#changed();
  }

  refused(request: PermissionRequest, error: ApiError): void {
    const what = missingIn(error);
    if (what === undefined) return;
    const kind = kindOf(request);
    const at = this.#clock.now();
    const known = this.#missing.get(kind);
    if (known !== undefined) known.at = at;
    else if (this.#missing.size < maxShown) {
      this.#missing.set(kind, { what, at });
      this.#changed();
    }
  }

  /** The missing permissions, in the order in which they were first needed. */
  missing(): readonly MissingPermission[] {
    const now = this.#clock.now();
    for (const [kind, { at }] of this.#missing) if (elapsed(at, now) > forgottenAfter) this.#missing.delete(kind);
    return [...this.#missing.values()].map(({ what }) => what);
  }
}

/**
 * The permission that a request lacked, according to the error or its cause. Undefined for other causes of Forbidden,
 * such as an exhausted quota: only the authorizer's message names the user.
 */
export function missingIn(error: unknown): MissingPermission | undefined {
  if (!(error instanceof Error)) return undefined;
  const [, user, verb, resource, group = "", namespace] =
    /User "([^"]*)" cannot (\S+) resource "([^"]+)"(?: in API group "([^"]*)")?(?: in the namespace "([^"]+)")?/.exec(
      error.message,
    ) ?? [];
  if (user === undefined || verb === undefined || resource === undefined) return missingIn(error.cause);
  return { user, verb, resource, group, namespace };
}

/**
 * A key for the verb and the path without the object's name: …/pods/web/status and …/pods/db/status have the same key.
 */
function kindOf({ verb, path }: PermissionRequest): string {
  const [, root = "", rest = ""] = /^(\/api\/[^/?]+|\/apis\/[^/?]+\/[^/?]+)([^?]*)/.exec(path) ?? [];
  const deps = rest.split("/").slice(1);
  const namespace = deps[0] === "namespaces" && deps.length > 2 ? deps.splice(0, 2)[1] : undefined;
  const [plural, , subresource] = deps;
  return JSON.stringify([verb, root, namespace, plural, subresource]);
}
