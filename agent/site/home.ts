import type { Database } from "../../storage/database.ts";
import type { Memo } from "../../storage/memo.ts";
import { storedProofs } from "../../storage/stored-resources.ts";
import { keyOf } from "../api/meta.ts";
import type { Ambient } from "../base/ambient.ts";
import type { KubeClient } from "../client/kube-client.ts";
import type { HttpRequest } from "../client/transport.ts";
import type { LeaderMemo } from "../election/leader-memo.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import type { InformerSet } from "../informer/informer-set.ts";
import { ServerHistory } from "../informer/server-history.ts";
import { newestWitness } from "../informer/trail.ts";
import { memoryArea } from "../loop/memory-store.ts";
import { HomeCluster } from "./home-cluster.ts";

export interface HomeParts {
  readonly client: KubeClient;
  readonly address: () => Promise<string>;
  readonly memo: Memo;
  readonly leaderMemo: LeaderMemo;
  readonly cache: Database;
  /** The site's Lease. */
  readonly at: { readonly namespace: string; readonly name: string };
  readonly informers: () => Pick<InformerSet, "run" | "stats">;
  readonly holds: () => Pick<HoldBook, "restored">;
  /** Renews the Lease now. Rejects if this board does not lead. */
  readonly renew: () => Promise<void>;
}

/** Keeps the caches up to date, as long as they stem from this very cluster and this very history of it. */
export class Home {
  readonly history: ServerHistory;
  readonly #parts: HomeParts;
  readonly #cluster: HomeCluster;
  #isListening = false;

  constructor(ambient: Ambient, parts: HomeParts) {
    const { client, address, memo, cache, at } = parts;
    this.#parts = parts;
    this.#cluster = new HomeCluster(ambient, { client, address, facts: memo });
    this.history = new ServerHistory(ambient, {
      client,
      at,
      renew: parts.renew,
      known: newestWitness(storedProofs(cache), keyOf({ metadata: at })),
      isWary: memo.get("cache", "wary") === "yes",
      reassured: () => memo.set("cache", "wary", ""),
      restored: (error) => {
        ambient.log.warn("the API server was restored", { error });
        memo.set("cache", "wary", "yes");
        parts.holds().restored();
        parts.leaderMemo.restored();
        // Toleration times ran against taints of the former history.
        memo.clear(memoryArea("taint-eviction"));
      },
    });
  }

  /** Blocks writes while the server's history is in doubt: it may have been restored. Reads change nothing. */
  async mayAsk({ method, signal }: HttpRequest): Promise<void> {
    if (method !== "GET") await this.history.settle(signal);
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** Runs until the signal aborts; throws if the caches have to be thrown away. */
  async listen(signal: AbortSignal): Promise<void> {
    const informers = this.#parts.informers();
    const isEmpty = (): boolean => informers.stats().every(({ synced, objects }) => !synced && objects === 0);
    await this.#cluster.check(isEmpty, signal);
    if (signal.aborted) return;
    this.history.home();
    this.#isListening = true;
    try {
      await informers.run(signal);
    } finally {
      this.#isListening = false;
    }
  }
}
