import { itemsAt, type JsonValue } from "../../../agent/api/json.ts";
import type { Propagation } from "../requests/options.ts";
import type { ServedKind } from "../served-kind.ts";
import type { ApiObject } from "./object.ts";

/** With this finalizer, an owner waits until its dependents have dropped their references. */
export const orphanFinalizer = "orphan";
/** With this finalizer, an owner waits until the dependents that block its deletion are deleted. */
export const foregroundFinalizer = "foregroundDeletion";

export const hasFinalizer = ({ metadata }: ApiObject, finalizer: string): boolean =>
  itemsAt(metadata, "finalizers").includes(finalizer);

/**
 * Adds the finalizer that a deletion requests, and removes the other one; if it requests none, both remain unchanged.
 */
export function propagated(kind: ServedKind, object: ApiObject, wish: Propagation | undefined): ApiObject {
  // As on the real server, an Event has no dependents.
  if (wish === undefined || kind.plural === "events") return object;
  const names = itemsAt(object.metadata, "finalizers");
  const wanted = { Foreground: [foregroundFinalizer], Background: [], Orphan: [orphanFinalizer] }[wish];
  const others = names.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  const isSo = names.length === others.length + wanted.length && wanted.every((name) => names.includes(name));
  return isSo ? object : withFinalizers(object, [...others, ...wanted]);
}

export const withoutFinalizer = (object: ApiObject, finalizer: string): ApiObject =>
  withFinalizers(
    object,
    itemsAt(object.metadata, "finalizers").filter((name) => name !== finalizer),
  );

const withFinalizers = (object: ApiObject, finalizers: readonly JsonValue[]): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, finalizers },
});
