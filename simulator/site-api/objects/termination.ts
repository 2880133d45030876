import { itemsAt, type JsonObject, numberAt, textAt } from "../../../agent/api/json.ts";
import { timestamp } from "../../../agent/api/timestamps.ts";
import { type Instant, shifted } from "../../../agent/base/clock.ts";
import type { Propagation } from "../requests/options.ts";
import type { ServedKind } from "../served-kind.ts";
import type { ApiObject } from "./object.ts";
import { propagated } from "./propagation.ts";

/**
 * Effect of a deletion on an object: it is removed immediately; or it is marked, and removed once it has no finalizers
 * or its runner reports that it has ended; or nothing (more) happens.
 */
export type Deletion = { readonly does: "remove" | "mark"; readonly object: ApiObject } | { readonly does: "nothing" };

/** The part of a deletion request that says how the object ends. */
export interface DeletionWish {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation?: Propagation | undefined;
}

export const isTerminating = ({ metadata }: ApiObject): boolean => typeof metadata.deletionTimestamp === "string";

/** Whether a finalizer must run before the object is removed. */
const isHeld = (kind: ServedKind, object: ApiObject): boolean =>
  itemsAt(object.metadata, "finalizers").length > 0 ||
  (kind.plural === "namespaces" && itemsAt(object, "spec", "finalizers").length > 0);

/** Whether a deleted object can be removed: its grace period has expired, and its last finalizer has been removed. */
export const isOver = (kind: ServedKind, object: ApiObject): boolean =>
  isTerminating(object) &&
  !isHeld(kind, object) &&
  (numberAt(object.metadata, "deletionGracePeriodSeconds") ?? 0) === 0;

export function deletionOf(
  kind: ServedKind,
  object: ApiObject,
  { gracePeriodSeconds: asked, propagation }: DeletionWish,
  now: Instant,
): Deletion {
  // As on the real server, a negative period means the shortest one.
  const wanted = asked !== undefined && asked < 0 ? 1 : asked;
  const period = kind.gracePeriod?.(object, wanted) ?? 0;
  const held = propagated(kind, object, propagation);
  if (!isTerminating(object)) {
    if (kind.gracePeriod === undefined && !isHeld(kind, held)) return { does: "remove", object };
    return ending(kind, marked(held, shifted(now, period * 1000), period), period);
  }
  const left = numberAt(object.metadata, "deletionGracePeriodSeconds") ?? 0;
  if (left === 0 && isHeld(kind, held)) return held === object ? { does: "nothing" } : { does: "mark", object: held };
  if (left === 0) return { does: "remove", object };
  // A pending deletion can be brought forward, but never postponed.
  if (wanted === undefined || period >= left) return { does: "nothing" };
  const begun = Date.parse(textAt(object.metadata, "deletionTimestamp")) - left * 1000;
  return ending(kind, shortened(held, begun + period * 1000, period), period);
}

const ending = (kind: ServedKind, object: ApiObject, period: number): Deletion => ({
  does: period > 0 || isHeld(kind, object) ? "mark" : "remove",
  object,
});

function marked(object: ApiObject, until: Instant, period: number): ApiObject {
  const { generation } = object.metadata;
  const metadata = {
    ...object.metadata,
    deletionTimestamp: timestamp(until),
    deletionGracePeriodSeconds: period,
    ...(typeof generation === "number" && { generation: generation + 1 }),
  };
  return { ...object, metadata };
}

function shortened(object: ApiObject, until: number, period: number): ApiObject {
  const deletion: JsonObject = {
    deletionTimestamp: timestamp({ mono: 0, wall: until }),
    deletionGracePeriodSeconds: period,
  };
  return { ...object, metadata: { ...object.metadata, ...deletion } };
}
