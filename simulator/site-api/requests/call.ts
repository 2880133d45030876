import type { Clock } from "../../../agent/base/clock.ts";
import type { Random } from "../../../agent/base/random.ts";
import type { ChangeTail } from "../objects/change-tail.ts";
import type { ObjectStore } from "../objects/object-store.ts";
import type { ServedKind } from "../served-kind.ts";
import type { ApiRequest } from "./exchange.ts";
import type { Representation } from "./representation.ts";

/** The collaborators of the verbs. */
export interface Site {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: ObjectStore;
  readonly tail: ChangeTail;
  /** Aborts when the server closes, which ends watches. */
  readonly closing: AbortSignal;
}

/** One request for a collection or an object; the parts that all verbs need are already parsed. */
export interface Call {
  readonly request: ApiRequest;
  readonly query: URLSearchParams;
  readonly kind: ServedKind;
  readonly namespace: string | undefined;
  readonly shown: Representation;
}

export interface ObjectCall extends Call {
  readonly name: string;
  readonly subresource: string | undefined;
}
