import { type KubeObject, keyOf } from "../../agent/api/meta.ts";
import { controllerOf } from "../../agent/api/owners.ts";
import type { Resource } from "../../agent/api/resources.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import type { Millis } from "../../agent/base/clock.ts";
import { WakeSignal } from "../../agent/base/concurrency/wake-signal.ts";
import { sentenceOf } from "../../agent/base/errors.ts";
import type { Mirror } from "../client/mirror.ts";
import { isNotFound, isTaken, type SiteClient } from "../client/site-client.ts";

/** The known objects of a resource. */
export interface KnownObjects {
  readonly resource: Resource<KubeObject>;
  readonly mirror: Mirror<KubeObject>;
}

const again: Millis = 5000;

/** Deletes the dependents of deleted owners, as a garbage collector would, but only for these kinds. */
export class Collector {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #owners: readonly KnownObjects[];
  readonly #dependents: readonly KnownObjects[];

  constructor(
    ambient: Ambient,
    deps: {
      readonly client: SiteClient;
      readonly owners: readonly KnownObjects[];
      readonly dependents: readonly KnownObjects[];
    },
  ) {
    this.#ambient = ambient;
    this.#client = deps.client;
    this.#owners = deps.owners;
    this.#dependents = deps.dependents;
  }

  async run(signal: AbortSignal): Promise<void> {
    const bell = new WakeSignal(this.#ambient.clock);
    const all = [...this.#owners, ...this.#dependents];
    const detach = all.map(({ mirror }) => mirror.onChange(() => bell.ring()));
    while (!signal.aborted) {
      if (all.every(({ mirror }) => mirror.hasSynced)) await this.#pass(signal);
      await bell.wait(signal, again);
    }
    for (const end of detach) end();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const kinds = new Set(this.#owners.map(({ resource }) => resource.kind));
    const present = new Set(
      this.#owners.flatMap(({ mirror }) => [...mirror.values()].map(({ metadata }) => metadata.uid)),
    );
    for (const { resource, mirror } of this.#dependents) {
      for (const object of [...mirror.values()]) {
        const owner = controllerOf(object);
        if (owner === undefined || !kinds.has(owner.kind) || present.has(owner.uid)) continue;
        if (object.metadata.deletionTimestamp === undefined && !signal.aborted)
          await this.#remove(resource, object, signal);
      }
    }
  }

  /**
   * Deletes a dependent, or logs the failure, in which case the next pass retries. Mirrors may be at different points
   * in time, so one may show that an owner was deleted before another shows that its dependents were orphaned.
   * Therefore the API itself is read before anything is deleted.
   */
  async #remove(resource: Resource<KubeObject>, object: KubeObject, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    try {
      const live = await this.#client.get(resource, { namespace, name }, signal);
      if (live?.metadata.uid !== uid || !(await this.#isLeftBehind(live, signal))) return;
      const { resourceVersion } = live.metadata;
      await this.#client.delete(resource, { namespace, name }, { uid, resourceVersion }, signal);
    } catch (error) {
      if (isNotFound(error) || isTaken(error)) return;
      this.#ambient.log.debug("a dependent was not removed", { object: keyOf(object), error: sentenceOf(error) });
    }
  }

  async #isLeftBehind(object: KubeObject, signal: AbortSignal): Promise<boolean> {
    const owner = controllerOf(object);
    const known = this.#owners.find(({ resource }) => resource.kind === owner?.kind);
    if (owner === undefined || known === undefined) return false;
    const { namespace } = object.metadata;
    const live = await this.#client.get(known.resource, { namespace, name: owner.name }, signal);
    return live?.metadata.uid !== owner.uid;
  }
}
