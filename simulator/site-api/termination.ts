import { itemsAt, type JsonObject, numberAt, textAt } from "../../agent/api/json.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import { type Instant, shifted } from "../../agent/base/clock.ts";
import type { ApiObject } from "./object.ts";
import type { Propagation } from "./options.ts";
import { propagated } from "./propagation.ts";
import type { ServedKind } from "./served-kind.ts";

/**
 * What a deletion does to an object: it goes at once, or is marked and goes when its finalizers are gone or when who
 * runs it says that it has ended, or nothing (more).
 */
export type Deletion = { readonly does: "remove" | "mark"; readonly object: ApiObject } | { readonly does: "nothing" };

/** What a deletion says of how an object is to go. */
export interface DeletionWish {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagation?: Propagation | undefined;
}

export const isTerminating = ({ metadata }: ApiObject): boolean => typeof metadata.deletionTimestamp === "string";

/** Somebody wants to do something before the object goes. */
const isHeld = (kind: ServedKind, object: ApiObject): boolean =>
  itemsAt(object.metadata, "finalizers").length > 0 ||
  (kind.plural === "namespaces" && itemsAt(object, "spec", "finalizers").length > 0);

/** The last finalizer of an object whose time is over was taken away. */
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
  // As on the real server: a negative period is the shortest one.
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
  // A deletion under way can be hurried, never be put off.
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
