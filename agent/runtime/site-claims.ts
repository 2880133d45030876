import type { Lease, Node } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { leases, type Resource } from "../api/resources.ts";
import { type LabelSelector, matchesLabels, parseLabelSelector, SelectorError } from "../api/selectors.ts";
import type { Ambient } from "../base/ambient.ts";
import { backoff } from "../base/backoff.ts";
import { type Millis, sleep } from "../base/clock.ts";
import { jitter } from "../base/random.ts";
import { inTextOrder } from "../base/text-order.ts";
import { isForbidden } from "../client/api-error.ts";
import type { ListOptions, ListResult } from "../client/kube-client.ts";
import type { SiteRank } from "../informer/comeback.ts";
import type { Lister } from "../informer/lister.ts";

/** On the Lease of a site: the label selector of its Nodes, for the leaders of other sites to read. "": all of them. */
export const selectorAnnotation = "siteward.dev/node-selector";

const siteLabel = "siteward.dev/site";
const ours = { name: "app.kubernetes.io/managed-by", value: "siteward" };

/** By these the Leases of sites are found. */
export const siteLabels = (site: string): Readonly<Record<string, string>> => ({
  [ours.name]: ours.value,
  [siteLabel]: site,
});

/** A site that was on this API server before ours, and what it says of its boards. */
export interface Claim {
  readonly site: string;
  /** The key of its Lease. */
  readonly lease: string;
  readonly selector: LabelSelector;
}

/** A site that was here first, and the boards that ours selects as well. */
export interface Conflict {
  readonly site: string;
  readonly lease: string;
  readonly boards: number;
  /** The first few of them. */
  readonly some: readonly string[];
}

/** What the claims ask of a KubeClient. */
export interface LeaseListing {
  list(
    resource: Resource<Lease>,
    options: ListOptions,
    each: (lease: Lease) => void,
    signal: AbortSignal,
  ): Promise<ListResult>;
}

export interface SiteClaimsParts {
  readonly client: LeaseListing;
  /** The Lease of our own site. */
  readonly at: { readonly namespace: string; readonly name: string };
  readonly boards: Lister<Node>;
  /** Between two looks. */
  readonly period: Millis;
  /** What is ours to look after is no longer what it was. */
  readonly changed: () => void;
}

/** What is read of the Lease of a site. */
export interface SiteLease {
  readonly key: string;
  readonly uid: string;
  readonly created: string;
  readonly site: string;
  readonly selector: string;
}

const pageSize = 500;
const mostNamed = 3;
const retries = { first: 1000, most: 30_000 } as const;

/**
 * Two sites may select the same board by mistake. The site whose Lease was created first keeps it, and the other one does
 * nothing with it: what the leaders of both read on the API server tells each of them the same.
 *
 * A claim stands as long as its Lease exists, whether or not somebody renews it: a site whose link is down for a day
 * still owns its boards.
 */
export class SiteClaims {
  readonly #ambient: Ambient;
  readonly #parts: SiteClaimsParts;
  #older: readonly Claim[] = [];
  #everywhere = true;
  #isBlind = false;
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

  /** True: the Leases of other sites may not be listed, and nothing is known of them. */
  get isBlind(): boolean {
    return this.#isBlind;
  }

  /** Where our site stands among all of them, by age; undefined: not known. */
  get rank(): SiteRank | undefined {
    return this.#rank;
  }

  /** The older site that claims a board with these labels. */
  claimant(labels: Readonly<Record<string, string>> | undefined): Claim | undefined {
    return this.#older.find(({ selector }) => matchesLabels(selector, labels));
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
    return [...found.values()].map(({ claim: { site, lease }, boards, some }) => ({ site, lease, boards, some }));
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
    if (JSON.stringify(older) === JSON.stringify(this.#older)) return;
    this.#older = older;
    this.#parts.changed();
  }

  /** In every namespace, where that is permitted: a site may keep its Lease wherever it likes. */
  async #leases(signal: AbortSignal): Promise<readonly SiteLease[]> {
    const { namespace } = this.#parts.at;
    const found =
      (this.#everywhere ? await this.#listed({}, signal) : undefined) ?? (await this.#listed({ namespace }, signal));
    if (found === undefined && !this.#isBlind) {
      this.#ambient.log.warn("other sites on this API server cannot be seen", { namespace });
    }
    this.#isBlind = found === undefined;
    return found ?? [];
  }

  /** Undefined: it is forbidden. */
  async #listed(
    where: { readonly namespace?: string },
    signal: AbortSignal,
  ): Promise<readonly SiteLease[] | undefined> {
    const found: SiteLease[] = [];
    const options = { ...where, labelSelector: `${ours.name}=${ours.value}`, metadataOnly: true, limit: pageSize };
    try {
      for (let page: string | undefined = ""; page !== undefined; ) {
        const result: ListResult = await this.#parts.client.list(
          leases,
          { ...options, continue: page },
          (lease) => found.push(...siteLeaseOf(lease)),
          signal,
        );
        page = result.continue;
      }
      return found;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      if (where.namespace === undefined) this.#everywhere = false;
      return undefined;
    }
  }

  #tell(): void {
    const { log } = this.#ambient;
    const conflicts = new Map(this.conflicts().map((conflict) => [conflict.lease, conflict]));
    for (const [lease, { site, boards, some }] of conflicts) {
      if (!this.#told.has(lease)) log.warn("another site claims the same boards", { site, lease, boards, some });
    }
    for (const [lease, { site }] of this.#told) {
      if (!conflicts.has(lease)) log.info("another site claims no boards of this site any more", { site, lease });
    }
    this.#told = conflicts;
  }
}

/** A Lease without a selector on it says nothing about boards. */
function siteLeaseOf({ metadata }: Lease): readonly SiteLease[] {
  const { uid, name, labels, annotations, creationTimestamp: created = "" } = metadata;
  const selector = annotations?.[selectorAnnotation];
  return selector === undefined
    ? []
    : [{ key: keyOf({ metadata }), uid, created, site: labels?.[siteLabel] ?? name, selector }];
}

/**
 * The claims that go before ours, the oldest first. Times of creation are compared as text: one server wrote them all, and
 * their order is all that is wanted. Where our own Lease is not among them, every other one goes before it.
 */
export function olderClaims(
  found: readonly SiteLease[],
  own: string,
  unreadable: (lease: string, error: SelectorError) => void,
): readonly Claim[] {
  const mine = found.find(({ key }) => key === own);
  return found
    .filter((lease) => lease.key !== own && (mine === undefined || order(lease, mine) < 0))
    .sort(order)
    .flatMap(({ site, key, selector }) => {
      try {
        return [{ site, lease: key, selector: parseLabelSelector(selector) }];
      } catch (error) {
        if (!(error instanceof SelectorError)) throw error;
        unreadable(key, error);
        return [];
      }
    });
}

const order = (a: SiteLease, b: SiteLease): number => inTextOrder(a.created, b.created) || inTextOrder(a.uid, b.uid);
