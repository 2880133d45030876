import { type KubeObject, keyOf } from "../../agent/api/meta.ts";
import { type Resource, resourceName } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { backoff } from "../../agent/base/backoff.ts";
import { sleep } from "../../agent/base/clock.ts";
import { sentenceOf } from "../../agent/base/errors.ts";
import { isGone, type ListScope, type SiteClient, type SiteEvent } from "./site-client.ts";

const retry = { first: 200, max: 5000 };
const watchSeconds = 300;

/**
 * The objects of one resource, kept in memory by list and watch. This is affordable because the site is small and this
 * process is not the agent. The mirror may skip states of an object, but never reorders them; while the API is
 * unreachable, it keeps the last known states.
 */
export class Mirror<T extends KubeObject> {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #resource: Resource<T>;
  readonly #scope: ListScope;
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<() => void>();
  #position: string | undefined;
  #failures = 0;

  constructor(
    ambient: Ambient,
    deps: { readonly client: SiteClient; readonly resource: Resource<T>; readonly scope?: ListScope },
  ) {
    this.#ambient = ambient;
    this.#client = deps.client;
    this.#resource = deps.resource;
    this.#scope = deps.scope ?? {};
  }

  /** True after the first complete list. */
  get hasSynced(): boolean {
    return this.#position !== undefined;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Calls back after one or several changes. The returned function unsubscribes. */
  onChange(listen: () => void): () => void {
    this.#listeners.add(listen);
    return () => this.#listeners.delete(listen);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#position === undefined) await this.#list(signal);
        await this.#watch(this.#position ?? "", signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) this.#position = undefined;
        this.#failures++;
        this.#ambient.log.debug("mirror interrupted", {
          resource: resourceName(this.#resource),
          error: sentenceOf(error),
        });
        await sleep(this.#ambient.clock, backoff(this.#failures, retry), signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { items, resourceVersion } = await this.#client.list(this.#resource, this.#scope, signal);
    this.#objects.clear();
    for (const object of items) this.#objects.set(keyOf(object), object);
    this.#position = resourceVersion;
    this.#notify();
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const from = { ...this.#scope, resourceVersion, seconds: watchSeconds };
    for await (const event of this.#client.watch(this.#resource, from, signal)) this.#take(event);
  }

  #take(event: SiteEvent<T>): void {
    if (event.type === "BOOKMARK") {
      this.#position = event.resourceVersion;
      return;
    }
    if (event.type === "DELETED") this.#objects.delete(keyOf(event.object));
    else this.#objects.set(keyOf(event.object), event.object);
    this.#position = event.object.metadata.resourceVersion;
    this.#notify();
  }

  #notify(): void {
    this.#failures = 0;
    for (const listen of this.#listeners) listen();
  }
}
