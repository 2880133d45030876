import { storedProofs } from "../../storage/indexer/stored-resources.ts";
import { keyOf } from "../api/meta.ts";
import type { Ambient } from "../base/ambient.ts";
import { ApiClients } from "../client/api-clients.ts";
import { ApiLink } from "../client/api-link.ts";
import { FailingRequests } from "../client/failing-requests.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { Permissions } from "../client/permissions.ts";
import type { RequestRate } from "../client/request-limiter.ts";
import { Traffic } from "../client/traffic.ts";
import { recordOf } from "../election/lease-record.ts";
import { ReconnectScheduler } from "../informer/reflector/reconnect-scheduler.ts";
import { ServerHistory } from "../informer/server-history.ts";
import { newestLeaseVersion } from "../informer/trail.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import { memoryArea } from "../loop/memory-store.ts";
import type { Edges } from "./edges.ts";
import type { Seat } from "./seat.ts";

/** Everything between the agent and the API server of its site. */
export interface SiteConnection {
  readonly link: ApiLink;
  readonly traffic: Traffic;
  readonly permissions: Permissions;
  /** The failing requests of `client`. */
  readonly failing: FailingRequests;
  /**
   * Keeps the boards from reconnecting all at the same time after a lost connection, by spreading their watches and
   * renewals over time.
   */
  readonly reconnects: ReconnectScheduler;
  readonly history: ServerHistory;
  /**
   * The client for optional checks of the server's identity and of other sites; its missing permissions are not
   * reported.
   */
  readonly inquirer: KubeClient;
  /** The client for all other reads and writes, except those of the Lease. */
  readonly client: KubeClient;
  /** The client for the Lease. Has a separate rate limit, so that a burst of evictions cannot delay a renewal. */
  readonly leaseClient: KubeClient;
}

/** A leader reconnects within this share of `link.blip`, before the interruption counts as an outage. */
const shareOfBlip = 0.9;
const electionRate: RequestRate = { qps: 5, burst: 10 };

export function siteConnection(
  ambient: Ambient,
  { config, folder, transport, version, statusChanged }: Edges,
  { seat, current }: { readonly seat: Seat; readonly current: CurrentTerm },
): SiteConnection {
  const { board, client, leader, link: limits } = config;
  const link = new ApiLink(ambient, {
    transport,
    changed: statusChanged,
    blip: limits.blip,
    isLeading: () => current.isActing,
  });
  const traffic = new Traffic();
  const permissions = new Permissions({ clock: ambient.clock, changed: statusChanged });
  const failing = new FailingRequests(ambient.clock);
  const reconnects = new ReconnectScheduler(ambient, {
    within: Math.min(shareOfBlip * limits.blip, leader.renewDeadline / 4),
    isUrgent: () => current.isActing,
  });
  const clients = new ApiClients(ambient, {
    link,
    traffic,
    timeouts: { ...client.timeouts, watch: client.timeouts.list },
    userAgent: `siteward/${version} (${board.name})`,
    reached: () => reconnects.reached(),
  });
  const inquirer = clients.client(electionRate);
  const history = historyOf(ambient, folder, { seat, client: inquirer });
  clients.onLost(() => history.doubt());
  return {
    link,
    traffic,
    permissions,
    failing,
    reconnects,
    history,
    inquirer,
    client: clients.client(client, { permissions, failing, turn: (request) => history.beforeRequest(request) }),
    leaseClient: clients.client(electionRate, { permissions, turn: ({ signal }) => reconnects.inTurn(signal) }),
  };
}

/**
 * The history of the API server's store from which the cache was filled. If the server was restored from a backup that
 * lacks this history, everything that this board derived from this history is discarded too.
 */
function historyOf(
  ambient: Ambient,
  { cache }: Edges["folder"],
  { seat, client }: { readonly seat: Seat; readonly client: KubeClient },
): ServerHistory {
  const { at, memo, leaderMemo, holdMemory, valveMemory } = seat;
  return new ServerHistory(ambient, {
    client,
    at,
    read: (lease) => leaderMemo.saw(recordOf(lease).term),
    known: newestLeaseVersion(storedProofs(cache.database), keyOf({ metadata: at })),
    wasRestored: memo.get("cache", "wary") === "yes",
    replaced: () => leaderMemo.replaced(),
    restoreForgotten: () => memo.set("cache", "wary", ""),
    restored: (error) => {
      ambient.log.warn("the API server was restored", { error });
      memo.set("cache", "wary", "yes");
      holdMemory.restored();
      valveMemory.restored();
      leaderMemo.restored();
      // The stored eviction timers belong to taints that the restored server may not have.
      memo.clear(memoryArea("taint-eviction"));
    },
  });
}
