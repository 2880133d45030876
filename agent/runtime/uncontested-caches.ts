import type { KubeObject } from "../api/meta.ts";
import { leases, nodes, pods, type Resource, resourceName } from "../api/resources.ts";
import { fieldOf } from "../api/selectors.ts";
import type { Lister } from "../informer/lister.ts";
import type { Seen } from "./controller.ts";
import type { SiteClaims } from "./site-claims.ts";
import type { Cache, Caches } from "./site-view.ts";

/** The board that an object belongs to, by the resource's name. */
const boardOf: Readonly<Record<string, (object: KubeObject) => string>> = {
  [resourceName(leases)]: ({ metadata }) => (metadata.namespace === "kube-node-lease" ? metadata.name : ""),
  [resourceName(pods)]: (pod) => fieldOf(pod, "spec.nodeName"),
};

/**
 * The caches without the boards that an older site claims, their Leases and their pods: what a controller does not see it
 * does nothing to. To it such a board has left the selection, and joins it when the conflict is over.
 */
export class UncontestedCaches implements Caches {
  readonly #caches: Caches;
  readonly #claims: Pick<SiteClaims, "none" | "claimant">;

  constructor(parts: { readonly caches: Caches; readonly claims: Pick<SiteClaims, "none" | "claimant"> }) {
    this.#caches = parts.caches;
    this.#claims = parts.claims;
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const cache = this.#caches.informer(resource);
    const shows = (object: T): boolean => this.#claims.none || !this.#isContested(resource, object);
    return {
      lister: new FilteredLister(cache.lister, shows),
      // Asked for anew each time: a watch's health is replaced with every event.
      get health() {
        return cache.health;
      },
      onChange: (listen) =>
        cache.onChange((changes) => listen(this.#claims.none ? changes : changes.flatMap((one) => seen(one, shows)))),
    };
  }

  /** A Node by the labels that it has, or had; what belongs to a Node by those that it has now. */
  #isContested(resource: Resource<KubeObject>, object: KubeObject): boolean {
    const name = resourceName(resource);
    if (name === resourceName(nodes)) return this.#claims.claimant(object.metadata.labels) !== undefined;
    const board = boardOf[name]?.(object);
    const node = board ? this.#caches.informer(nodes).lister.get(board) : undefined;
    return node !== undefined && this.#claims.claimant(node.metadata.labels) !== undefined;
  }
}

class FilteredLister<T> implements Lister<T> {
  readonly #all: Lister<T>;
  readonly #shows: (object: T) => boolean;

  constructor(all: Lister<T>, shows: (object: T) => boolean) {
    this.#all = all;
    this.#shows = shows;
  }

  get(key: string): T | undefined {
    const object = this.#all.get(key);
    return object !== undefined && this.#shows(object) ? object : undefined;
  }

  list(): IterableIterator<T> {
    return filtered(this.#all.list(), this.#shows);
  }

  byIndex(index: string, value: string): IterableIterator<T> {
    return filtered(this.#all.byIndex(index, value), this.#shows);
  }

  get size(): number {
    let size = 0;
    for (const _ of this.list()) size++;
    return size;
  }
}

function* filtered<T>(objects: IterableIterator<T>, shows: (object: T) => boolean): IterableIterator<T> {
  for (const object of objects) if (shows(object)) yield object;
}

/** A change of what is shown: appearing and vanishing included. None where nothing of it is shown. */
function seen<T>({ key, before, after }: Seen<T>, shows: (object: T) => boolean): readonly Seen<T>[] {
  const visible = (object: T | undefined): T | undefined =>
    object !== undefined && shows(object) ? object : undefined;
  const change = { key, before: visible(before), after: visible(after) };
  return change.before === undefined && change.after === undefined ? [] : [change];
}
