import { type KubeObject, keyOf } from "../../../../agent/api/meta.ts";
import { type Resource, resourceName } from "../../../../agent/api/resources.ts";
import type { Lister } from "../../../../agent/informer/lister.ts";
import { neverConnected, type WatchHealth } from "../../../../agent/informer/watch-health.ts";
import type { ObjectChange } from "../../../../agent/loop/controller.ts";
import type { Cache, Caches } from "../../../../agent/loop/site-view.ts";

/** A cache of one resource on the heap, which the story fills. */
export class SmallCache implements Cache<KubeObject> {
  readonly objects = new Map<string, KubeObject>();
  health: WatchHealth = neverConnected;
  position: string | undefined;
  readonly listeners = new Set<(changes: readonly ObjectChange<KubeObject>[]) => void>();

  readonly lister: Lister<KubeObject> = {
    get: (key) => this.objects.get(key),
    list: () => [...this.objects.values()].values(),
    byIndex: () => [].values(),
    referencesByIndex: () => [].values(),
    indexValues: () => [].values(),
    countByIndex: () => 0,
    size: 0,
  };

  onChange(listen: (changes: readonly ObjectChange<KubeObject>[]) => void): () => void {
    this.listeners.add(listen);
    return () => this.listeners.delete(listen);
  }

  add(...objects: readonly KubeObject[]): void {
    const changes = objects.map((after) => {
      const key = keyOf(after);
      const before = this.objects.get(key);
      this.objects.set(key, after);
      return { key, before, after };
    });
    for (const listen of this.listeners) listen(changes);
  }

  remove(key: string): void {
    const before = this.objects.get(key);
    this.objects.delete(key);
    for (const listen of this.listeners) listen([{ key, before, after: undefined }]);
  }
}

export class SmallCaches implements Caches {
  readonly #caches = new Map<string, SmallCache>();

  of(resource: Resource<KubeObject>): SmallCache {
    const name = resourceName(resource);
    const cache = this.#caches.get(name) ?? new SmallCache();
    this.#caches.set(name, cache);
    return cache;
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    return this.of(resource) as Cache<KubeObject> as Cache<T>;
  }
}
