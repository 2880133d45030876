import type { Node } from "../api/core.ts";
import { type KubeObject, keyOf } from "../api/meta.ts";
import { leases, namespaces, type Resource } from "../api/resources.ts";
import { matchesLabels } from "../api/selectors.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { type Millis, sleep } from "../base/clock.ts";
import { jitter } from "../base/random.ts";
import { isForbidden } from "../client/api-error.ts";
import type { ListOptions, ListResult } from "../client/kube-client.ts";
import type { Lister } from "../informer/lister.ts";
import type { SiteRank } from "../informer/reflector/reconnect-scheduler.ts";
import { olderClaims, order, type SiteClaim, type SiteLease, siteLeaseOf, siteSelector } from "./site-lease.ts";

/** The namespaces that this site and an older one both select: all, or `count` of them, with the names of `some`. */
export type SharedNamespaces = "every" | { readonly count: number; readonly some: readonly string[] };

/** The boards and namespaces that this site selects although they belong to an older site. */
export interface SiteConflict {
  /** The name of the older site. */
  readonly site: string;
  /** The key of its Lease. */
  readonly lease: string;
  /** The number of shared boards. */
  readonly boards: number;
  /** The names of the first few of these boards. */
  readonly some: readonly string[];
  /** Undefined if there are none. */
  readonly namespaces: SharedNamespaces | undefined;
}

/** The method of the KubeClient that SiteClaims uses. */
export interface LeaseListing {
  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
  ): Promise<ListResult>;
}

/**
 * The namespaces of this site, from the cache. every: the site has all of them, and none is cached. none: the site has
 * no workloads.
 */
export type OwnNamespaces = Lister<KubeObject> | "every" | "none";

export interface SiteClaimsDeps {
  readonly client: LeaseListing;
  /** Where this site's Lease is. */
  readonly at: { readonly namespace: string; readonly name: string };
  /** The namespaces in which Leases count as claims. In other namespaces a tenant may be able to create one. */
  readonly leaseNamespaces: readonly string[];
  readonly boards: Lister<Node>;
  readonly namespaces: OwnNamespaces;
  /** Pause between two reads. */
  readonly period: Millis;
  /** Called when the claims of older sites have changed. */
  readonly changed: () => void;
  /** Called after each read with this site's rank among all sites by age; undefined if it has no Lease yet. */
  readonly ranked?: (rank: SiteRank | undefined) => void;
}

const pageSize = 500;
const maxNamed = 3;
const retries = { first: 1000, max: 30_000 } as const;

/**
 * The claims of older sites. Two sites may select the same board or namespace by mistake. The site whose Lease was
 * created first keeps it, and the other one leaves it alone; the leaders of both read the same Leases, and so draw the
 * same conclusion.
 *
 * A claim is valid as long as its Lease exists, regardless of whether the Lease is renewed, so that a site whose link
 * is down for a day keeps its boards.
 */
export class SiteClaims {
  readonly #ambient: Ambient;
  readonly #deps: SiteClaimsDeps;
  #older: readonly SiteClaim[] = [];
  /** The names of the claimed namespaces by the key of a Lease; empty if this site caches namespaces. */
  #named: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #unseen: readonly string[] = [];
  /** The conflicts as last logged, by the key of the older site's Lease. */
  #logged = new Map<string, SiteConflict>();

  constructor(ambient: Ambient, deps: SiteClaimsDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** True if no older site has a claim and no object needs a check. */
  get none(): boolean {
    return this.#older.length === 0;
  }

  /** Namespaces in which this agent is not allowed to list Leases, so that claims there are unknown. */
  get unseen(): readonly string[] {
    return this.#unseen;
  }

  /** The older site that claims a board with these labels; undefined if none does. */
  claimant(labels: Readonly<Record<string, string>> | undefined): SiteClaim | undefined {
    return this.#older.find(({ selector }) => matchesLabels(selector, labels));
  }

  /** True if no older site claims a namespace. */
  get noNamespaces(): boolean {
    return this.#older.every(({ namespaces }) => namespaces === undefined);
  }

  /** The older site that claims a namespace; undefined if none does. A namespace that is not cached has no labels. */
  claimantOfNamespace(name: string): SiteClaim | undefined {
    return this.#older.find((claim) => this.#claims(claim, name));
  }

  /** The boards and namespaces that this site and older ones both select, one entry for each older site. */
  conflicts(): readonly SiteConflict[] {
    if (this.none) return [];
    const found = new Map<string, { boards: number; readonly claim: SiteClaim; readonly some: string[] }>();
    for (const { metadata } of this.#deps.boards.list()) {
      const claim = this.claimant(metadata.labels);
      if (claim === undefined) continue;
      const conflict = found.get(claim.lease) ?? { boards: 0, claim, some: [] };
      found.set(claim.lease, conflict);
      conflict.boards++;
      if (conflict.some.length < maxNamed) conflict.some.push(metadata.name);
    }
    return this.#older.flatMap((claim): readonly SiteConflict[] => {
      const { site, lease } = claim;
      const { boards, some } = found.get(lease) ?? { boards: 0, some: [] };
      const shared = this.#shared(claim);
      return boards > 0 || shared !== undefined ? [{ site, lease, boards, some, namespaces: shared }] : [];
    });
  }

  #claims({ lease, namespaces: selector }: SiteClaim, name: string): boolean {
    const { namespaces: mine } = this.#deps;
    if (selector === undefined) return false;
    if (typeof mine === "object") return matchesLabels(selector, mine.get(name)?.metadata.labels);
    return selector.length === 0 || this.#named.get(lease)?.has(name) === true;
  }

  #shared(claim: SiteClaim): SharedNamespaces | undefined {
    const { namespaces: mine } = this.#deps;
    if (claim.namespaces === undefined || mine === "none") return undefined;
    if (typeof mine === "object") {
      const names = [...mine.list()].map(({ metadata }) => metadata.name);
      return sharedNamespaces(names.filter((name) => this.#claims(claim, name)));
    }
    return claim.namespaces.length === 0 ? "every" : sharedNamespaces(this.#named.get(claim.lease) ?? []);
  }

  /** Resolves once the other sites are known, or when the signal aborts. Until then, boards must be left alone. */
  async learn(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    this.#older = [];
    this.#logged = new Map();
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.#read(signal);
        return;
      } catch (error) {
        log.debug("the Leases of other sites cannot be listed yet", { error });
        await sleep(clock, jitter(random, backoff(failures, retries), 0.5), signal);
      }
    }
  }

  /**
   * Reads the claims again from time to time, the first time after a short while, because sites that are set up at the
   * same time do not see all others immediately. A failed read changes nothing.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    const { period } = this.#deps;
    for (let pause = period / 5; !signal.aborted; pause = period) {
      this.#logConflicts();
      await sleep(clock, jitter(random, pause, 0.1), signal);
      if (signal.aborted) return;
      try {
        await this.#read(signal);
      } catch (error) {
        log.debug("the Leases of other sites cannot be listed", { error });
      }
    }
  }

  /** Reads the Leases of all sites. */
  async #read(signal: AbortSignal): Promise<void> {
    const found = (await this.#leases(signal)).toSorted(order);
    const own = keyOf({ metadata: this.#deps.at });
    const rank = found.findIndex(({ key }) => key === own);
    this.#deps.ranked?.(rank < 0 ? undefined : { rank, of: found.length });
    const older = olderClaims(found, own, (lease, error) =>
      this.#ambient.log.warn("the selector of another site cannot be parsed", { lease, error }),
    );
    const named = await this.#namesOf(older, signal);
    const isSame =
      JSON.stringify([older, ...asLists(named)]) === JSON.stringify([this.#older, ...asLists(this.#named)]);
    if (isSame) return;
    this.#older = older;
    this.#named = named;
    this.#deps.changed();
  }

  /** The namespaces that older sites select, listed from the API if this site has all namespaces and caches none. */
  async #namesOf(older: readonly SiteClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const found = new Map<string, ReadonlySet<string>>();
    if (this.#deps.namespaces !== "every") return found;
    for (const { lease, namespaces: selector, namespaceSelector } of older) {
      if (selector === undefined || selector.length === 0 || namespaceSelector === undefined) continue;
      const names = new Set<string>();
      await this.#pages(
        namespaces,
        { labelSelector: namespaceSelector },
        ({ metadata }) => names.add(metadata.name),
        signal,
      );
      found.set(lease, names);
    }
    return found;
  }

  /** The Leases of sites in those of `leaseNamespaces` in which this agent is allowed to list them. */
  async #leases(signal: AbortSignal): Promise<readonly SiteLease[]> {
    const found: SiteLease[] = [];
    const unseen: string[] = [];
    for (const namespace of this.#deps.leaseNamespaces) {
      const listed = await this.#listed(namespace, signal);
      if (listed === undefined) unseen.push(namespace);
      else found.push(...listed);
    }
    if (unseen.length > 0 && this.#unseen.length === 0) {
      this.#ambient.log.warn("no permission to list the Leases of other sites", { namespaces: unseen.join(", ") });
    }
    this.#unseen = unseen;
    return found;
  }

  /** The Leases of sites in a namespace; undefined if listing them is forbidden. */
  async #listed(namespace: string, signal: AbortSignal): Promise<readonly SiteLease[] | undefined> {
    const found: SiteLease[] = [];
    const options = { namespace, labelSelector: siteSelector };
    try {
      await this.#pages(leases, options, (lease) => found.push(...siteLeaseOf(lease)), signal);
      return found;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return undefined;
    }
  }

  async #pages<T extends KubeObject>(
    resource: Resource<T>,
    options: Pick<ListOptions, "namespace" | "labelSelector">,
    each: (object: T) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (let page: string | undefined = ""; page !== undefined; ) {
      const wanted = { ...options, metadataOnly: true, limit: pageSize, continue: page };
      const result: ListResult = await this.#deps.client.list(resource, wanted, each, signal);
      page = result.continue;
    }
  }

  #logConflicts(): void {
    const { log } = this.#ambient;
    const conflicts = new Map(this.conflicts().map((conflict) => [conflict.lease, conflict]));
    for (const [lease, conflict] of conflicts) {
      if (!this.#logged.has(lease))
        log.warn("an older site claims boards or namespaces that this site selects", { ...conflict });
    }
    for (const [lease, { site }] of this.#logged) {
      if (!conflicts.has(lease)) log.info("the conflict with an older site has ended", { site, lease });
    }
    this.#logged = conflicts;
  }
}

const asLists = (named: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly [string, readonly string[]])[] =>
  [...named].map(([lease, names]) => [lease, [...names].sort()]);

/** The count and the first few names; undefined if there are none. */
function sharedNamespaces(names: Iterable<string>): SharedNamespaces | undefined {
  const some: string[] = [];
  let count = 0;
  for (const name of names) {
    count++;
    if (some.length < maxNamed) some.push(name);
  }
  return count === 0 ? undefined : { count, some };
}
