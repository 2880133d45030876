import type { Node } from "../api/core.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { type Peer, standbyAnnotation, standingBy, standsBy } from "../board/sick-leader.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { type SiteScope, selectionOf } from "../informer/scope.ts";
import { peerOf } from "./peers.ts";

export interface StandbySearchDeps {
  readonly client: Pick<KubeClient, "list" | "get">;
  readonly scope: SiteScope;
  /** The Node of this board. */
  readonly own: string;
}

/** Minimum interval between two searches. */
const period: Millis = 300_000;

/** The longest time that a search takes. */
const patience: Millis = 60_000;

/** The number of Nodes in a page. */
const page = 100;

/**
 * Searches the API for a board that stands by. A deaf leader needs it, because its cache is older than what boards have
 * announced since (docs/judgement.md#unwell-boards). Lists only metadata, and reads the Nodes that announce
 * themselves until one is ready: a board that died does not take its announcement back.
 */
export class StandbySearch {
  readonly #ambient: Ambient;
  readonly #deps: StandbySearchDeps;
  #last: Instant | undefined;

  constructor(ambient: Ambient, deps: StandbySearchDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** The board that was found; undefined if there is none, the API gave no answer, or the last search was just now. */
  async find(signal: AbortSignal): Promise<Peer | undefined> {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    if (this.#last !== undefined && elapsed(this.#last, now) < period) return undefined;
    this.#last = now;
    const limit = deadline(clock, patience, signal, () => new Error("the search for a standby took too long"));
    try {
      return await this.#search(limit.signal);
    } catch (error) {
      if (!signal.aborted) log.warn("the API does not show whether another board stands by", { error });
      return undefined;
    } finally {
      limit.dispose();
    }
  }

  async #search(signal: AbortSignal): Promise<Peer | undefined> {
    const { client, scope, own } = this.#deps;
    const selection = { ...selectionOf(nodes, scope), metadataOnly: true, limit: page };
    let next: string | undefined;
    do {
      const announced: string[] = [];
      const note = ({ metadata: { name, annotations } }: Node): void => {
        if (name !== own && annotations?.[standbyAnnotation] === standsBy) announced.push(name);
      };
      ({ continue: next } = await client.list(nodes, { ...selection, continue: next }, note, signal));
      for (const name of announced) {
        const peer = peerOf(await client.get(nodes, { name }, signal));
        if (standingBy([peer]) !== undefined) return peer;
      }
    } while (next !== undefined);
    return undefined;
  }
}
