import type { Pod } from "../api/core.ts";
import { type KubeObject, keyOf, type NewObject } from "../api/meta.ts";
import { boardOf, isFinished } from "../api/pods.ts";
import { compareVersions } from "../api/resource-version.ts";
import { nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import { timestamp } from "../api/timestamps.ts";
import { type Clock, type Instant, isAfter } from "../base/clock.ts";
import { asRecord } from "../base/json.ts";
import { ApiError, type Verb } from "../client/api-error.ts";
import type { Write, Writer } from "../execution/executor.ts";
import type { ApiReader } from "../loop/site-view.ts";
import type { OverlaidCache } from "./overlaid-cache.ts";
import type { OverlaidSite } from "./overlaid-site.ts";
import { type PatchType, patched } from "./patched.ts";
import type { SignOfLife } from "./pretence.ts";

interface Place {
  readonly namespace?: string;
  readonly name: string;
}

interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Maximum number of objects whose last writer is remembered. */
const mostWriters = 4000;

/** The API server's default for pods. The cache does not keep the pod's own. */
const defaultGraceSeconds = 30;

/**
 * The API as shadowed controllers use it. A write gets the response that the API server would give according to the
 * cache; it changes only the overlay, and nothing is sent. A read is sent, and the pretended writes are applied to its
 * response. If the overlay is full, deletions are refused, so that they are not decided again and again as if they were
 * new, and patches have no effect.
 */
export class ShadowClient implements Writer, ApiReader {
  readonly #clock: Clock;
  readonly #site: OverlaidSite;
  readonly #reader: ApiReader;
  /** The last pretended write of each object, the oldest first. */
  readonly #last = new Map<string, { readonly by: string; readonly at: Instant }>();

  constructor(clock: Clock, { site, reader }: { readonly site: OverlaidSite; readonly reader: ApiReader }) {
    this.#clock = clock;
    this.#site = site;
    this.#reader = reader;
  }

  async get<T extends KubeObject>(
    resource: Resource<T>,
    at: Place,
    signal: AbortSignal,
    waiting?: Parameters<ApiReader["get"]>[3],
  ): Promise<T> {
    const object = await this.#reader.get(resource, at, signal, waiting);
    const cache = this.#site.overlaid(resource);
    const shown = cache ? cache.shown(object) : object;
    if (shown === undefined) throw refusal("get", resource, at, 404, "NotFound");
    return shown;
  }

  async patch<T extends KubeObject>(
    resource: Resource<T>,
    at: Place,
    type: PatchType | "json",
    patch: object,
    write: Write,
  ): Promise<T> {
    if (type === "json") return unexpected("patch", resource);
    const { cache, real, shown } = this.#target("patch", resource, at, preconditionsIn(patch), write);
    const after = patched(shown, type, patch);
    this.#wrote(resource, at, write);
    if (cache.hasRoomFor(keyOf(real))) await cache.pretend(real, after, this.#signFor(resource, real));
    return after;
  }

  async delete(
    resource: Resource<KubeObject>,
    at: Place,
    options: Preconditions & { readonly gracePeriodSeconds?: number },
    write: Write,
  ): Promise<void> {
    await this.#remove("delete", resource, at, options, write);
  }

  async evict({ namespace, name }: Required<Place>, options: Preconditions, write: Write): Promise<void> {
    await this.#remove("evict", pods, { namespace, name }, options, write);
  }

  create<T extends KubeObject>(resource: Resource<T>, _namespace: string | undefined, _object: NewObject): Promise<T> {
    return unexpected("create", resource);
  }

  bind(): Promise<void> {
    return unexpected("bind", pods);
  }

  async #remove(
    verb: Verb,
    resource: Resource<KubeObject>,
    at: Place,
    options: Preconditions & { readonly gracePeriodSeconds?: number },
    write: Write,
  ): Promise<void> {
    const key = keyOf({ metadata: at });
    await this.#site.overlaid(resource)?.makeRoomFor(key);
    const { cache, real, shown } = this.#target(verb, resource, at, options, write);
    if (!cache.hasRoomFor(key)) throw fullFor(verb, resource, at, cache.most);
    const seconds = graceOf(shown, options.gracePeriodSeconds);
    const isKept = (shown.metadata.finalizers?.length ?? 0) > 0;
    const { wall, mono } = this.#clock.now();
    const marked = {
      ...shown,
      metadata: {
        ...shown.metadata,
        deletionTimestamp: shown.metadata.deletionTimestamp ?? timestamp({ wall: wall + seconds * 1000, mono }),
        deletionGracePeriodSeconds: seconds,
      },
    };
    this.#wrote(resource, at, write);
    await cache.pretend(real, seconds === 0 && !isKept ? "gone" : marked, this.#signFor(resource, real));
  }

  /**
   * The object of a write. Throws like the API server if there is none, or if a precondition fails: pretended writes do
   * not change the version, so one that another controller made since the site was observed counts as a newer version.
   * The cache may lag behind the version that was read; the write then rests on that version.
   */
  #target<T extends KubeObject>(
    verb: Verb,
    resource: Resource<T>,
    at: Place,
    { uid, resourceVersion }: Preconditions,
    { guard, decided }: Write,
  ): { readonly cache: OverlaidCache<T>; readonly real: T; readonly shown: T } {
    guard?.();
    const cache = this.#site.overlaid(resource);
    if (cache === undefined) return unexpected(verb, resource);
    const real = cache.real(keyOf({ metadata: at }));
    const shown = real && cache.shown(real);
    if (real === undefined || shown === undefined) throw refusal(verb, resource, at, 404, "NotFound");
    const { metadata } = real;
    const last = this.#last.get(nameOf(resource, at));
    const isOvertaken =
      last !== undefined && decided !== undefined && last.by !== decided.by && !isAfter(decided.since, last.at);
    const isNewer =
      resourceVersion !== undefined && (isOvertaken || compareVersions(metadata.resourceVersion, resourceVersion) > 0);
    if (isNewer || (uid !== undefined && metadata.uid !== uid)) throw refusal(verb, resource, at, 409, "Conflict");
    return { cache, real, shown };
  }

  #wrote(resource: Resource<KubeObject>, at: Place, { decided }: Write): void {
    if (decided === undefined) return;
    const name = nameOf(resource, at);
    this.#last.delete(name);
    this.#last.set(name, { by: decided.by, at: this.#clock.now() });
    const [oldest] = this.#last.keys();
    if (this.#last.size > mostWriters && oldest !== undefined) this.#last.delete(oldest);
  }

  #signFor(resource: Resource<KubeObject>, object: KubeObject): SignOfLife {
    const isNode = resourceName(resource) === resourceName(nodes);
    return this.#site.signOf(isNode ? object.metadata.name : boardOf(object as Pod));
  }
}

/** How long the server lets a pod shut down. Nothing runs of a pod that is not bound or has ended. */
function graceOf(object: KubeObject, seconds: number | undefined): number {
  // Only pods are deleted.
  const pod = object as Pod;
  if (boardOf(pod) === undefined || isFinished(pod)) return 0;
  return seconds ?? pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds;
}

const nameOf = (resource: Resource<KubeObject>, at: Place): string =>
  `${resourceName(resource)} ${keyOf({ metadata: at })}`;

function preconditionsIn(patch: object): Preconditions {
  const { uid, resourceVersion } = asRecord(asRecord(patch).metadata);
  return {
    ...(typeof uid === "string" && { uid }),
    ...(typeof resourceVersion === "string" && { resourceVersion }),
  };
}

function refusal(
  verb: Verb,
  { kind }: Resource<KubeObject>,
  at: Place,
  status: number,
  reason: "NotFound" | "Conflict",
): ApiError {
  const target = `${kind.toLowerCase()} ${keyOf({ metadata: at })}`;
  const message = reason === "NotFound" ? "not found" : "the object has been modified";
  return new ApiError({ verb, target }, { status, reason, message });
}

/** The answer to a write that cannot be pretended. It is retried, because the real program may make room meanwhile. */
const fullFor = (verb: Verb, { kind, plural }: Resource<KubeObject>, at: Place, most: number): ApiError =>
  new ApiError(
    { verb, target: `${kind.toLowerCase()} ${keyOf({ metadata: at })}` },
    {
      status: 429,
      reason: "TooManyRequests",
      message: `in shadow mode, at most ${most} ${plural} are shown otherwise than they are`,
    },
  );

/** No controller that can be shadowed sends such a request. It is not sent either. */
function unexpected(verb: Verb, { plural }: Resource<KubeObject>): never {
  throw new Error(`a controller in shadow mode cannot ${verb} ${plural}`);
}
