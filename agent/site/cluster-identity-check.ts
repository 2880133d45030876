import { namespaces } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { sleep } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import type { KeyValueStore } from "../base/key-value-store.ts";
import { jitter } from "../base/random.ts";
import { isForbidden, isNotFound } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";

/** It is not certain that the cache was filled from this cluster, so it must be deleted. */
export class OtherClusterError extends Error implements HasDisposition {
  override readonly name = "OtherClusterError";
  readonly disposition = "rebuild";

  /** `recorded`: the identity of the cluster that the cache was filled from; undefined if none is recorded. */
  constructor(recorded: string | undefined, found: string) {
    super(difference(recorded, found));
  }
}

function difference(recorded: string | undefined, found: string): string {
  if (recorded === undefined) return "state.db does not record which cluster the cache was filled from";
  if (isUid(recorded) !== isUid(found)) {
    return "permission to read the uid of kube-system was granted or revoked, so it is unknown from which cluster the cache was filled";
  }
  return isUid(found)
    ? "the cache was filled from another cluster"
    : "the address or the CA of the API server has changed since the cache was filled";
}

const isUid = (identity: string): boolean => identity.startsWith("uid:");

export interface ClusterIdentityDeps {
  readonly client: Pick<KubeClient, "get">;
  /** Identifies the cluster if its uid cannot be read: a hash of the server's address and CA certificates. */
  readonly address: () => Promise<string>;
  readonly facts: KeyValueStore;
  /** Called with the cluster's identity before the caches are checked. */
  readonly identified: (cluster: string) => void;
}

const retries = { first: 500, max: 15_000 } as const;

/**
 * Ties the cache to the cluster that it was filled from. In another cluster a watch could resume at the stored position
 * without an error, although the cached objects are not that cluster's. The uid of the kube-system namespace identifies
 * a cluster.
 */
export class ClusterIdentityCheck {
  readonly #ambient: Ambient;
  readonly #deps: ClusterIdentityDeps;

  constructor(ambient: Ambient, deps: ClusterIdentityDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /**
   * Resolves once the cache may be filled, or when the signal aborts. Throws an OtherClusterError unless the cache is
   * empty or is known to have been filled from this cluster.
   */
  async check(isEmpty: () => boolean, signal: AbortSignal): Promise<void> {
    const { facts, identified } = this.#deps;
    const found = await this.#identity(signal);
    if (found === undefined) return;
    identified(found);
    const recorded = facts.get("cache", "cluster");
    if (found === recorded) return;
    if (!isEmpty()) throw new OtherClusterError(recorded, found);
    // Stored before the first object, so that a cache with objects always has the identity of its cluster.
    facts.set("cache", "cluster", found);
  }

  async #identity(signal: AbortSignal): Promise<string | undefined> {
    const { clock, random, log } = this.#ambient;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await this.#ask(signal);
      } catch (error) {
        log.debug("the cluster cannot be identified yet", { error });
        await sleep(clock, jitter(random, backoff(failures, retries), 0.5), signal);
      }
    }
    return undefined;
  }

  async #ask(signal: AbortSignal): Promise<string> {
    const { client, address } = this.#deps;
    try {
      const { metadata } = await client.get(namespaces, { name: "kube-system", metadataOnly: true }, signal);
      return `uid:${metadata.uid}`;
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      return `address:${await address()}`;
    }
  }
}
