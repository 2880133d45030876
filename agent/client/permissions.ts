import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { ApiError } from "./api-error.ts";

/** A permission that the API server denies our user, in the terms of RBAC. */
export interface MissingPermission {
  readonly user: string;
  /** "list", "watch", "patch", … */
  readonly verb: string;
  /** "nodes", "nodes/status", "leases" */
  readonly resource: string;
  /** "" for the core group. */
  readonly group: string;
  /** Undefined: in the whole cluster. */
  readonly namespace: string | undefined;
}

/** A request that was refused; others of its kind are refused too, whatever their object. */
export interface Asked {
  readonly verb: string;
  readonly path: string;
}

/** Maximum number of refusals shown; one remedy serves many, so the first few suffice. */
const mostNamed = 12;

/** A refusal not repeated for this long is dropped: the request may no longer be needed. */
const toldFor: Millis = 3_600_000;

/** Remembers forbidden requests until one of the same kind succeeds. */
export class Permissions {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #missing = new Map<string, { readonly what: MissingPermission; at: Instant }>();

  /** `changed` is called when something becomes forbidden or allowed. */
  constructor(parts: { readonly clock: Clock; readonly changed: () => void }) {
    this.#clock = parts.clock;
    this.#changed = parts.changed;
  }

  /** A request succeeded, or failed for another reason than a missing permission. */
  granted(asked: Asked): void {
    if (this.#missing.size > 0 && this.#missing.delete(kindOf(asked))) this.#changed();
  }

  refused(asked: Asked, error: ApiError): void {
    const what = missingIn(error);
    if (what === undefined) return;
    const kind = kindOf(asked);
    const at = this.#clock.now();
    const known = this.#missing.get(kind);
    if (known !== undefined) known.at = at;
    else if (this.#missing.size < mostNamed) {
      this.#missing.set(kind, { what, at });
      this.#changed();
    }
  }

  /** In order of occurrence. */
  missing(): readonly MissingPermission[] {
    const now = this.#clock.now();
    for (const [kind, { at }] of this.#missing) if (elapsed(at, now) > toldFor) this.#missing.delete(kind);
    return [...this.#missing.values()].map(({ what }) => what);
  }
}

/** A full quota or a terminating namespace is Forbidden too; only the authorizer names a user who cannot. */
function missingIn({ message }: ApiError): MissingPermission | undefined {
  const [, user, verb, resource, group = "", namespace] =
    /User "([^"]*)" cannot (\S+) resource "([^"]+)"(?: in API group "([^"]*)")?(?: in the namespace "([^"]+)")?/.exec(
      message,
    ) ?? [];
  if (user === undefined || verb === undefined || resource === undefined) return undefined;
  return { user, verb, resource, group, namespace };
}

/** The path without the object's name: /api/v1/namespaces/default/pods/web/status and …/pods/db/status are one kind. */
function kindOf({ verb, path }: Asked): string {
  const [, root = "", rest = ""] = /^(\/api\/[^/?]+|\/apis\/[^/?]+\/[^/?]+)([^?]*)/.exec(path) ?? [];
  const parts = rest.split("/").slice(1);
  const namespace = parts[0] === "namespaces" && parts.length > 2 ? parts.splice(0, 2)[1] : undefined;
  const [plural, , subresource] = parts;
  return JSON.stringify([verb, root, namespace, plural, subresource]);
}
