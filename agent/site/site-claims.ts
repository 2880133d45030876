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
import type { SiteRank } from "../informer/reconnect-scheduler.ts";
import { type Claim, olderClaims, order, type SiteLease, siteLeaseOf, siteSelector } from "./site-lease.ts";

/** The namespaces that our site and one claim both select. */
export type SharedNamespaces = "every" | { readonly count: number; readonly some: readonly string[] };

/** A site that was here first, and the boards and namespaces that ours selects as well. */
export interface Conflict {
  readonly site: string;
  readonly lease: string;
  readonly boards: number;
  /** The first few of them. */
  readonly some: readonly string[];
  readonly namespaces: SharedNamespaces | undefined;
}

/** The method of KubeClient that the claims use. */
export interface LeaseListing {
  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
  ): Promise<ListResult>;
}

/** The namespaces of our site, as it mirrors them. every: all, and none is mirrored. none: it has no workloads. */
export type OwnNamespaces = Lister<KubeObject> | "every" | "none";

export interface SiteClaimsParts {
  readonly client: LeaseListing;
  /** The Lease of our own site. */
  readonly at: { readonly namespace: string; readonly name: string };
  /** Namespaces whose Leases count as claims. Others do not: any tenant may write a Lease in its namespace. */
  readonly leaseNamespaces: readonly string[];
  readonly boards: Lister<Node>;
  readonly namespaces: OwnNamespaces;
  /** Between two reads. */
  readonly period: Millis;
  /** Called when the boards or namespaces that are ours change. */
  readonly changed: () => void;
}

const pageSize = 500;
const mostNamed = 3;
const retries = { first: 1000, most: 30_000 } as const;

/**
 * Two sites may select the same board or namespace by mistake. The site whose Lease was created first keeps it, and the
 * other one does nothing with it: the leaders of both read the same Leases and come to the same result.
 *
 * A claim stands as long as its Lease exists, whether or not it is renewed: a site whose link is down for a day still
 * owns its boards.
 */
export class SiteClaims {
  readonly #ambient: Ambient;
  readonly #parts: SiteClaimsParts;
  #older: readonly Claim[] = [];
  /** By the key of a Lease: the names of the namespaces that it claims, if we do not mirror their labels. */
  #named: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #unseen: readonly string[] = [];
  #rank: SiteRank | undefined;
  #told = new Map<string, Conflict>();

  constructor(ambient: Ambient, parts: SiteClaimsParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** True: no other site was here before ours; no object needs a check. */
  get none(): boolean {
    return this.#older.length === 0;
  }

  /** Namespaces whose Leases may not be listed: claims there are not known. */
  get unseen(): readonly string[] {
    return this.#unseen;
  }

  /** Our site's rank among all sites, by age; undefined: not known. */
  get rank(): SiteRank | undefined {
    return this.#rank;
  }

  /** The older site that claims a board with these labels. */
  claimant(labels: Readonly<Record<string, string>> | undefined): Claim | undefined {
    return this.#older.find(({ selector }) => matchesLabels(selector, labels));
  }

  /** True: no older site claims a namespace. */
  get noNamespaces(): boolean {
    return this.#older.every(({ namespaces }) => namespaces === undefined);
  }

  /** The older site that claims a namespace. One that should be mirrored and is not counts as one without labels. */
  claimantOfNamespace(name: string): Claim | undefined {
    return this.#older.find((claim) => this.#claims(claim, name));
  }

  conflicts(): readonly Conflict[] {
    if (this.none) return [];
    const found = new Map<string, { boards: number; readonly claim: Claim; readonly some: string[] }>();
    for (const { metadata } of this.#parts.boards.list()) {
      const claim = this.claimant(metadata.labels);
      if (claim === undefined) continue;
      const conflict = found.get(claim.lease) ?? { boards: 0, claim, some: [] };
      found.set(claim.lease, conflict);
      conflict.boards++;
      if (conflict.some.length < mostNamed) conflict.some.push(metadata.name);
    }
    return this.#older.flatMap((claim): readonly Conflict[] => {
      const { site, lease } = claim;
      const { boards, some } = found.get(lease) ?? { boards: 0, some: [] };
      const shared = this.#shared(claim);
      return boards > 0 || shared !== undefined ? [{ site, lease, boards, some, namespaces: shared }] : [];
    });
  }

  #claims({ lease, namespaces: selector }: Claim, name: string): boolean {
    const { namespaces: mine } = this.#parts;
    if (selector === undefined) return false;
    if (typeof mine === "object") return matchesLabels(selector, mine.get(name)?.metadata.labels);
    return selector.length === 0 || this.#named.get(lease)?.has(name) === true;
  }

  #shared(claim: Claim): SharedNamespaces | undefined {
    const { namespaces: mine } = this.#parts;
    if (claim.namespaces === undefined || mine === "none") return undefined;
    if (typeof mine === "object") {
      const names = [...mine.list()].map(({ metadata }) => metadata.name);
      return sharedNamespaces(names.filter((name) => this.#claims(claim, name)));
    }
    return claim.namespaces.length === 0 ? "every" : sharedNamespaces(this.#named.get(claim.lease) ?? []);
  }

  /** Resolves once the other sites are known, or when the signal aborts. Boards must be left alone before. */
  async learn(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    this.#older = [];
    this.#told = new Map();
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.#look(signal);
        return;
      } catch (error) {
        log.debug("the Leases of other sites cannot be listed yet", { error });
        await sleep(clock, jitter(random, backoff(failures, retries), 0.5), signal);
      }
    }
  }

  /**
   * Reads the claims again from time to time, the first time soon: sites that are set up together do not see all others
   * at once. A failed read changes nothing.
   */
  async follow(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ambient;
    const { period } = this.#parts;
    for (let pause = period / 5; !signal.aborted; pause = period) {
      this.#tell();
      await sleep(clock, jitter(random, pause, 0.1), signal);
      if (signal.aborted) return;
      try {
        await this.#look(signal);
      } catch (error) {
        log.debug("the Leases of other sites cannot be listed", { error });
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const found = (await this.#leases(signal)).toSorted(order);
    const own = keyOf({ metadata: this.#parts.at });
    const rank = found.findIndex(({ key }) => key === own);
    this.#rank = rank < 0 ? undefined : { rank, of: found.length };
    const older = olderClaims(found, own, (lease, error) =>
      this.#ambient.log.warn("the selector of another site cannot be read", { lease, error }),
    );
    const named = await this.#namesOf(older, signal);
    const isSame =
      JSON.stringify([older, ...asLists(named)]) === JSON.stringify([this.#older, ...asLists(this.#named)]);
    if (isSame) return;
    this.#older = older;
    this.#named = named;
    this.#parts.changed();
  }

  /** A site that has every namespace does not mirror them: it lists the namespaces that the older sites select. */
  async #namesOf(older: readonly Claim[], signal: AbortSignal): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const found = new Map<string, ReadonlySet<string>>();
    if (this.#parts.namespaces !== "every") return found;
    for (const { lease, namespaces: selector, told } of older) {
      if (selector === undefined || selector.length === 0 || told === undefined) continue;
      const names = new Set<string>();
      await this.#pages(namespaces, { labelSelector: told }, ({ metadata }) => names.add(metadata.name), signal);
      found.set(lease, names);
    }
    return found;
  }

  /** The sites' Leases in the namespaces that count, as far as permissions allow. */
  async #leases(signal: AbortSignal): Promise<readonly SiteLease[]> {
    const found: SiteLease[] = [];
    const unseen: string[] = [];
    for (const namespace of this.#parts.leaseNamespaces) {
      const listed = await this.#listed(namespace, signal);
      if (listed === undefined) unseen.push(namespace);
      else found.push(...listed);
    }
    if (unseen.length > 0 && this.#unseen.length === 0) {
      this.#ambient.log.warn("other sites on this API server cannot be seen", { namespaces: unseen.join(", ") });
    }
    this.#unseen = unseen;
    return found;
  }

  /** Undefined: it is forbidden. */
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
      const result: ListResult = await this.#parts.client.list(resource, wanted, each, signal);
      page = result.continue;
    }
  }

  #tell(): void {
    const { log } = this.#ambient;
    const conflicts = new Map(this.conflicts().map((conflict) => [conflict.lease, conflict]));
    for (const [lease, conflict] of conflicts) {
      if (!this.#told.has(lease)) log.warn("another site claims what this site selects too", { ...conflict });
    }
    for (const [lease, { site }] of this.#told) {
      if (!conflicts.has(lease)) log.info("another site claims nothing of this site any more", { site, lease });
    }
    this.#told = conflicts;
  }
}

const asLists = (named: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly [string, readonly string[]])[] =>
  [...named].map(([lease, names]) => [lease, [...names].sort()]);

/** The count and the first few names; `undefined`: there is none. */
function sharedNamespaces(names: Iterable<string>): SharedNamespaces | undefined {
  const some: string[] = [];
  let count = 0;
  for (const name of names) {
    count++;
    if (some.length < mostNamed) some.push(name);
  }
  return count === 0 ? undefined : { count, some };
}
