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

/** Of one claim: the namespaces that both sites select. */
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

/** What the claims ask of a KubeClient. */
export interface LeaseListing {
  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
  ): Promise<ListResult>;
}

/** Those of our site as it mirrors them. every: all are, and none is mirrored. none: it has no workloads. */
export type OwnNamespaces = Lister<KubeObject> | "every" | "none";

export interface SiteClaimsParts {
  readonly client: LeaseListing;
  /** The Lease of our own site. */
  readonly at: { readonly namespace: string; readonly name: string };
  /** In which Leases count as claims. A Lease elsewhere claims nothing: any tenant may write one in its namespace. */
  readonly leaseNamespaces: readonly string[];
  readonly boards: Lister<Node>;
  readonly namespaces: OwnNamespaces;
  /** Between two looks. */
  readonly period: Millis;
  /** What is ours to look after is no longer what it was. */
  readonly changed: () => void;
}

const pageSize = 500;
const mostNamed = 3;
const retries = { first: 1000, most: 30_000 } as const;

/**
 * Two sites may select the same board or namespace by mistake. The site whose Lease was created first keeps it, and the
 * other one does nothing with it: what the leaders of both read on the API server tells each of them the same.
 *
 * A claim stands as long as its Lease exists, whether or not somebody renews it: a site whose link is down for a day
 * still owns its boards.
 */
export class SiteClaims {
  readonly #ambient: Ambient;
  readonly #parts: SiteClaimsParts;
  #older: readonly Claim[] = [];
  /** By the key of a Lease: the names of the namespaces that it claims, where we do not know their labels ourselves. */
  #named: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #unseen: readonly string[] = [];
  #rank: SiteRank | undefined;
  #told = new Map<string, Conflict>();

  constructor(ambient: Ambient, parts: SiteClaimsParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** True: no other site was here before ours; nothing needs to be asked about. */
  get none(): boolean {
    return this.#older.length === 0;
  }

  /** Namespaces whose Leases may not be listed: claims there are not known. */
  get unseen(): readonly string[] {
    return this.#unseen;
  }

  /** Where our site stands among all of them, by age; undefined: not known. */
  get rank(): SiteRank | undefined {
    return this.#rank;
  }

  /** The older site that claims a board with these labels. */
  claimant(labels: Readonly<Record<string, string>> | undefined): Claim | undefined {
    return this.#older.find(({ selector }) => matchesLabels(selector, labels));
  }

  /** True: whoever was here before ours claims no namespace. */
  get noNamespaces(): boolean {
    return this.#older.every(({ namespaces }) => namespaces === undefined);
  }

  /** The older site that claims a namespace. One that is to be ours and that we do not know is nobody's. */
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

  /** Ends once the other sites are known, or when the signal aborts. Nothing may be done to a board before. */
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
   * Looks again from time to time, the first time soon: sites that are set up together do not see all others at once. A
   * look that fails changes nothing.
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

  /** A site to which every namespace belongs does not mirror them: it asks which ones the older sites select. */
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

  /** Of the namespaces that count, as far as that is permitted. */
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

/** The first few of them by name; `undefined`: there is none. */
function sharedNamespaces(names: Iterable<string>): SharedNamespaces | undefined {
  const some: string[] = [];
  let count = 0;
  for (const name of names) {
    count++;
    if (some.length < mostNamed) some.push(name);
  }
  return count === 0 ? undefined : { count, some };
}
