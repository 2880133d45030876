import type { Node } from "../api/core.ts";
import { nodes } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import { type Peer, standbyAnnotation, standingBy, standsBy } from "../board/sick-leader.ts";
import { isNotFound } from "../client/api-error.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { type SiteScope, selectionOf } from "../informer/scope.ts";
import { peerOf } from "./peers.ts";

export interface StandbySearchDeps {
  readonly client: Pick<KubeClient, "list" | "get">;
  readonly scope: SiteScope;
  /** The Node of this board. */
  readonly own: string;
  /** The names of the Nodes in the cache. */
  readonly known: () => Iterable<string>;
}

/** Minimum interval between the beginnings of two searches. */
const period: Millis = 300_000;

/** Minimum interval after the end of a search whose list failed. */
const retryPeriod: Millis = 60_000;

/** Time limit of a search. */
const patience: Millis = 60_000;

/** The part of `patience` that the list may take, so that some time is left to read individual Nodes. */
const listPatience: Millis = 40_000;

/** The number of Nodes in a page. */
const page = 100;

/** The maximum number of individual Nodes that a search reads. The next search continues after them. */
const maxReads = 32;

/**
 * Searches the API for a standby. A deaf leader needs this search, because its cache lacks later
 * announcements of boards (docs/judgement.md#unwell-boards). Lists only metadata, and reads the Nodes that announce
 * themselves until one is ready, because a dead board does not withdraw its announcement. If the list fails, perhaps
 * for the same reason for which the leader is deaf, reads the Nodes in the cache one by one.
 */
export class StandbySearch {
  readonly #ambient: Ambient;
  readonly #deps: StandbySearchDeps;
  /** When the next search may begin. */
  #next: Instant | undefined;
  /** The last Node that was read individually. */
  #lastRead = "";

  constructor(ambient: Ambient, deps: StandbySearchDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /**
   * The board that was found; undefined if there is none, if the API does not show one, or if the last search was too
   * recent.
   */
  async find(signal: AbortSignal): Promise<Peer | undefined> {
    const { clock, log } = this.#ambient;
    const began = clock.now();
    if (this.#next !== undefined && isAfter(this.#next, began)) return undefined;
    this.#next = shifted(began, period);
    const limit = deadline(clock, patience, signal, tookTooLong);
    try {
      const found = await this.#listed(limit.signal);
      return found === "none" ? undefined : found;
    } catch (error) {
      if (signal.aborted) return undefined;
      log.warn("cannot list the Nodes to find a standby; reading them one by one", { error });
      const found = await this.#read(limit.signal);
      this.#next = shifted(clock.now(), retryPeriod);
      return found;
    } finally {
      limit.dispose();
    }
  }

  /** Searches the list. Throws if the API does not show everything. */
  async #listed(signal: AbortSignal): Promise<Peer | "none"> {
    const { client, scope, own } = this.#deps;
    const limit = deadline(this.#ambient.clock, listPatience, signal, tookTooLong);
    const selection = { ...selectionOf(nodes, scope), metadataOnly: true, limit: page };
    let next: string | undefined;
    try {
      do {
        const announced: string[] = [];
        const note = (node: Node): void => {
          if (node.metadata.name !== own && announces(node)) announced.push(node.metadata.name);
        };
        ({ continue: next } = await client.list(nodes, { ...selection, continue: next }, note, limit.signal));
        for (const name of announced) {
          const peer = peerOf(await client.get(nodes, { name }, limit.signal));
          if (standingBy([peer]) !== undefined) return peer;
        }
      } while (next !== undefined);
      return "none";
    } finally {
      limit.dispose();
    }
  }

  /** Reads the next few Nodes that the cache knows from the API, until one is on standby or the signal aborts. */
  async #read(signal: AbortSignal): Promise<Peer | undefined> {
    const { client } = this.#deps;
    for (const name of this.#turn()) {
      if (signal.aborted) return undefined;
      this.#lastRead = name;
      try {
        // Reads the metadata first, because a whole Node may be ten times as large.
        if (!announces(await client.get(nodes, { name, metadataOnly: true }, signal))) continue;
        const peer = peerOf(await client.get(nodes, { name }, signal));
        if (standingBy([peer]) !== undefined) return peer;
      } catch (error) {
        if (!isNotFound(error))
          this.#ambient.log.debug("cannot read the Node to check whether its board is a standby", { name, error });
      }
    }
    return undefined;
  }

  /** The Nodes whose turn it is to be read. */
  #turn(): readonly string[] {
    const { known, own } = this.#deps;
    const following: string[] = [];
    const first: string[] = [];
    for (const name of known()) {
      if (name === own) continue;
      const turn = name > this.#lastRead ? following : first;
      if (turn.length < maxReads) turn.push(name);
      if (following.length === maxReads) break;
    }
    return [...following, ...first].slice(0, maxReads);
  }
}

const announces = ({ metadata: { annotations } }: Node): boolean => annotations?.[standbyAnnotation] === standsBy;

const tookTooLong = (): Error => new Error("the search for a standby took too long");
