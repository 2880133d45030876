import { type KubeObject, keyOf } from "../../../agent/api/meta.ts";
import { type Resource, resourceName } from "../../../agent/api/resources.ts";
import type { Clock } from "../../../agent/base/clock.ts";
import type { WatchHealth } from "../../../agent/informer/watch-health.ts";
import type { ObjectChange } from "../../../agent/loop/controller.ts";
import type { ApiReader, Cache, Caches } from "../../../agent/loop/site-view.ts";
import { listerOf } from "../../support/lister.ts";
import { refusal } from "../../support/small-api.ts";

type Listen = (changes: readonly ObjectChange<KubeObject>[]) => unknown;

/** The real site: what the API server has, in caches that are always current. */
export class SiteInMemory implements Caches, ApiReader {
  readonly #clock: Clock;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Map<string, Set<Listen>>();
  #version = 100;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const all = this.#of(resource);
    const sorted = (): readonly T[] => [...all.keys()].sort().map((key) => all.get(key) as T);
    const now = () => this.#clock.now();
    return {
      lister: listerOf<T>(resource, sorted, (key) => all.get(key) as T | undefined),
      get health(): WatchHealth {
        const at = now();
        return { connected: true, lastReceived: at, lastProof: at, restoredAt: undefined, notLiveSince: undefined };
      },
      position: "999999",
      onChange: (listen) => {
        const listeners = this.#listenersOf(resource);
        listeners.add(listen as Listen);
        return () => listeners.delete(listen as Listen);
      },
    };
  }

  get<T extends KubeObject>(resource: Resource<T>, at: { namespace?: string; name: string }): Promise<T> {
    const found = this.#of(resource).get(keyOf({ metadata: at }));
    return found ? Promise.resolve(found as T) : Promise.reject(refusal("get", 404, "NotFound"));
  }

  /** Another client writes the object. Returns it with its new version. */
  async put<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> {
    const after = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    const key = keyOf(after);
    const before = this.#of(resource).get(key);
    this.#of(resource).set(key, after);
    await this.#tell(resource, [{ key, before, after }]);
    return after;
  }

  async remove(resource: Resource<KubeObject>, key: string): Promise<void> {
    const before = this.#of(resource).get(key);
    this.#of(resource).delete(key);
    await this.#tell(resource, [{ key, before, after: undefined }]);
  }

  async #tell(resource: Resource<KubeObject>, changes: readonly ObjectChange<KubeObject>[]): Promise<void> {
    for (const listen of this.#listenersOf(resource)) await listen(changes);
  }

  #of(resource: Resource<KubeObject>): Map<string, KubeObject> {
    const name = resourceName(resource);
    const found = this.#objects.get(name) ?? new Map<string, KubeObject>();
    this.#objects.set(name, found);
    return found;
  }

  #listenersOf(resource: Resource<KubeObject>): Set<Listen> {
    const name = resourceName(resource);
    const found = this.#listeners.get(name) ?? new Set<Listen>();
    this.#listeners.set(name, found);
    return found;
  }
}
