import type { KubeObject } from "../api/meta.ts";
import { leases, namespaces, nodes, pods, type Resource } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { claimSettings } from "../config/claim-settings.ts";
import type { Config } from "../config/settings.ts";
import { workloadReads, workloadsOf } from "../controllers/workloads.ts";
import type { LeaderElector } from "../election/leader-elector.ts";
import type { HoldBook } from "../holds/hold-book.ts";
import { InformerSet } from "../informer/informer-set.ts";
import { AwakeCaches } from "../leading/awake-caches.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import { Suspensions } from "../leading/suspensions.ts";
import { WritableLeases } from "../leading/writable-leases.ts";
import type { Caches } from "../loop/site-view.ts";
import { GuardedInformers } from "../site/guarded-informers.ts";
import { SiteClaims } from "../site/site-claims.ts";
import { namespacesOf, siteNamespaces } from "../site/site-namespaces.ts";
import { uncontestedCaches } from "../site/uncontested-caches.ts";
import type { Edges } from "./edges.ts";
import type { Seat } from "./seat.ts";
import type { SiteConnection } from "./site-connection.ts";

/** The informers, and views of their caches that leave out objects of other sites. */
export interface SiteCaches {
  readonly informers: InformerSet;
  /** The resources that have an informer. */
  readonly mirrored: readonly Resource<KubeObject>[];
  readonly home: GuardedInformers;
  readonly claims: SiteClaims;
  readonly suspensions: Suspensions;
  /**
   * The caches without workloads in namespaces of other sites. Their watch of Leases is live only while Leases can be
   * written, and neither it nor the watch of Nodes is live right after a suspension of this process.
   */
  readonly caches: Caches;
  /** `caches` without the boards that another site claims. */
  readonly uncontested: Caches;
}

export interface SiteCachesDeps {
  readonly seat: Seat;
  readonly current: CurrentTerm;
  readonly connection: SiteConnection;
  readonly elector: LeaderElector;
  readonly holds: HoldBook;
}

/**
 * Resources that every agent mirrors, regardless of which controllers run; namespaces only if the site selects
 * namespaces.
 */
const alwaysMirrored = ({ site }: Config): readonly Resource<KubeObject>[] =>
  site.namespaceSelector === undefined ? [nodes, leases, pods] : [nodes, leases, pods, namespaces];

export function siteCaches(
  ambient: Ambient,
  { config, folder, address }: Edges,
  { seat, current, connection: api, elector, holds }: SiteCachesDeps,
): SiteCaches {
  const { cache, leader, link, site } = config;
  const { client, inquirer, history, reconnects } = api;
  const informers = new InformerSet(ambient, {
    client,
    database: folder.cache.database,
    settings: { ...cache, limits: { stall: link.watchStall, blip: link.blip }, heartbeats: link.heartbeats },
    scope: site,
    history,
    disk: () => folder.room(),
    isUrgent: () => current.isActing,
    reconnects,
  });
  const reads = workloadsOf(config).flatMap((name) => workloadReads[name]);
  const mirrored = [...new Set([...alwaysMirrored(config), ...reads])];
  for (const resource of mirrored) informers.informer(resource);

  const home = new GuardedInformers(ambient, {
    client: inquirer,
    address,
    facts: seat.memo,
    identified: (cluster) => holds.identified(cluster),
    history,
    informers,
    renew: () => elector.renewNow(),
  });
  const claims = new SiteClaims(ambient, {
    client: inquirer,
    at: seat.at,
    ...claimSettings(leader),
    boards: informers.informer(nodes).lister,
    namespaces: namespacesOf(informers, site),
    changed: () => current.wakeAll(),
    ranked: (rank) => reconnects.ranked(rank),
  });
  const writable = new WritableLeases(ambient.clock, informers, { writes: () => elector.writes, blip: link.blip });
  const suspensions = new Suspensions(ambient.clock, link.blip);
  const caches = siteNamespaces(new AwakeCaches(ambient.clock, writable, suspensions), site, claims);
  return { informers, mirrored, home, claims, suspensions, caches, uncontested: uncontestedCaches(caches, claims) };
}
