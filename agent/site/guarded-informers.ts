import type { Ambient } from "../base/ambient.ts";
import type { InformerSet } from "../informer/informer-set.ts";
import type { RenewLease, ServerHistory } from "../informer/server-history.ts";
import { ClusterIdentityCheck, type ClusterIdentityDeps } from "./cluster-identity-check.ts";

export interface GuardedInformersDeps extends ClusterIdentityDeps {
  readonly history: Pick<ServerHistory, "confirmCluster">;
  readonly informers: Pick<InformerSet, "run" | "stats">;
  readonly renew: RenewLease;
}

/** Runs the informers once it is certain that the caches were filled from this cluster. */
export class GuardedInformers {
  readonly #deps: GuardedInformersDeps;
  readonly #cluster: ClusterIdentityCheck;
  #isListening = false;

  constructor(ambient: Ambient, deps: GuardedInformersDeps) {
    this.#deps = deps;
    this.#cluster = new ClusterIdentityCheck(ambient, deps);
  }

  /** True while the informers run. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Runs until the signal aborts. Throws if the caches must be deleted. */
  async listen(signal: AbortSignal): Promise<void> {
    const { informers, history, renew } = this.#deps;
    const isEmpty = (): boolean => informers.stats().every(({ synced, objects }) => !synced && objects === 0);
    await this.#cluster.check(isEmpty, signal);
    if (signal.aborted) return;
    history.confirmCluster();
    this.#isListening = true;
    try {
      await informers.run(signal, renew);
    } finally {
      this.#isListening = false;
    }
  }
}
