import { namespaces } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { sleep } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import type { Facts } from "../base/facts.ts";
import { jitter } from "../base/random.ts";
import { isForbidden, isNotFound } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";

/** The cache stems from another cluster and is thrown away. */
export class OtherClusterError extends Error implements HasDisposition {
  override readonly name = "OtherClusterError";
  readonly disposition = "rebuild";

  constructor() {
    super("it was filled from another cluster");
  }
}

export interface HomeClusterParts {
  readonly client: Pick<KubeClient, "get">;
  /** Stands for the cluster if its name may not be read: the server's address and authority, hashed. */
  readonly address: () => Promise<string>;
  readonly facts: Facts;
}

const retries = { first: 500, most: 15_000 } as const;

/**
 * Ties the cache to the cluster that filled it. Names and resourceVersions of one cluster are valid but wrong in
 * another: a watch would resume there without an error. The uid of the kube-system namespace identifies a cluster.
 */
export class HomeCluster {
  readonly #ambient: Ambient;
  readonly #parts: HomeClusterParts;

  constructor(ambient: Ambient, parts: HomeClusterParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Resolves when the cache may be filled further, or the signal aborts; throws if it stems from another cluster. */
  async check(isEmpty: () => boolean, signal: AbortSignal): Promise<void> {
    const { facts } = this.#parts;
    const found = await this.#identity(signal);
    if (found === undefined || found === facts.get("cache", "cluster")) return;
    if (!isEmpty()) throw new OtherClusterError();
    // Before the first object is stored: whatever happens then, the cache is never older than this note.
    facts.set("cache", "cluster", found);
  }

  async #identity(signal: AbortSignal): Promise<string | undefined> {
    const { clock, random, log } = this.#ambient;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await this.#ask(signal);
      } catch (error) {
        log.debug("the cluster cannot be told yet", { error });
        await sleep(clock, jitter(random, backoff(failures, retries), 0.5), signal);
      }
    }
    return undefined;
  }

  async #ask(signal: AbortSignal): Promise<string> {
    const { client, address } = this.#parts;
    try {
      const { metadata } = await client.get(namespaces, { name: "kube-system", metadataOnly: true }, signal);
      return `uid:${metadata.uid}`;
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      return `address:${await address()}`;
    }
  }
}
