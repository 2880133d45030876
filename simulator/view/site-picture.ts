import type { DaemonSet, EndpointSlice, Lease, Node, Pod, Service } from "../../agent/api/core.ts";
import type { AgentMemory, AgentState } from "../boards/agent-process.ts";
import type { LinkShown } from "../boards/simulated-board.ts";
import { zoneLabel } from "../cluster/board-node.ts";
import {
  type DaemonPicture,
  daemonOf,
  daemonPicture,
  type ServicePicture,
  servedUids,
  servicePicture,
} from "../cluster/daemons.ts";
import { workloadOf } from "../cluster/workloads.ts";

/** The parts of an agent's status file that are shown. */
export interface AgentReport {
  readonly role: string;
  /** Keys waiting in the queues of the agent's controllers. */
  readonly queued: number;
  readonly zones: readonly { readonly name: string; readonly state: string }[];
}

/** The site as seen from outside at one instant: a value for the table, the timeline and the scenarios. */
export interface SitePicture {
  readonly apiUp: boolean;
  readonly leader: { readonly board: string; readonly term: number } | undefined;
  readonly zones: readonly ZonePicture[];
  readonly boards: readonly BoardPicture[];
  readonly pods: readonly PodPicture[];
  readonly daemons: readonly DaemonPicture[];
  readonly services: readonly ServicePicture[];
}

export interface ZonePicture {
  readonly name: string;
  readonly boards: number;
  readonly ready: number;
  /** The zone's state as reported by the leader; `undefined` if it reported none. */
  readonly state: string | undefined;
}

export interface BoardPicture {
  readonly name: string;
  readonly zone: string;
  readonly power: "on" | "off";
  readonly link: LinkShown;
  /** The readiness according to the API. */
  readonly ready: "True" | "False" | "Unknown" | "absent";
  /** Taints such as "unreachable:NoExecute", without the common prefix of Kubernetes' own taints. */
  readonly taints: readonly string[];
  readonly cordoned: boolean;
  readonly agent: AgentState;
  readonly memory: AgentMemory | undefined;
  readonly report: AgentReport | undefined;
}

export interface PodPicture {
  readonly key: string;
  readonly uid: string;
  readonly workload: string | undefined;
  readonly daemon: string | undefined;
  readonly board: string | undefined;
  readonly phase: string;
  /** Whether the scheduler found no board for the pod. */
  readonly unplaced: boolean;
  readonly ready: boolean;
  /** Whether a service routes to the pod. */
  readonly served: boolean;
  /** Whether the pod's deletion was requested. */
  readonly ending: boolean;
}

/** A board as the simulator sees it, independently of the API. */
export type SimulatedBoardFacts = Pick<
  BoardPicture,
  "name" | "zone" | "power" | "link" | "agent" | "memory" | "report"
>;

export function pictureOf(site: {
  readonly apiUp: boolean;
  readonly boards: readonly SimulatedBoardFacts[];
  readonly nodes: Iterable<Node>;
  readonly pods: Iterable<Pod>;
  readonly lease: Lease | undefined;
  readonly daemonSets: Iterable<DaemonSet>;
  readonly services: Iterable<Service>;
  readonly slices: Iterable<EndpointSlice>;
}): SitePicture {
  const nodes = new Map([...site.nodes].map((node) => [node.metadata.name, node]));
  const boards = site.boards.map((board) => boardPicture(board, nodes.get(board.name)));
  const leader = leaderOf(site.lease);
  const judged = boards.find(({ name }) => name === leader?.board)?.report?.zones ?? [];
  const slices = [...site.slices];
  const served = servedUids(slices);
  return {
    apiUp: site.apiUp,
    leader,
    boards,
    zones: zonesOf(boards, judged),
    pods: [...site.pods].map((pod) => podPicture(pod, served)),
    daemons: [...site.daemonSets].map(daemonPicture),
    services: [...site.services].map((service) => servicePicture(service, slices)),
  };
}

/** The holder of a site Lease consists of a board's name, "_", and a part unique to its process. */
function leaderOf(lease: Lease | undefined): SitePicture["leader"] {
  const holder = lease?.spec?.holderIdentity;
  if (!holder) return undefined;
  const end = holder.lastIndexOf("_");
  return { board: end < 0 ? holder : holder.slice(0, end), term: lease.spec?.leaseTransitions ?? 0 };
}

function boardPicture(board: SimulatedBoardFacts, node: Node | undefined): BoardPicture {
  const ready = node?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  return {
    ...board,
    zone: node?.metadata.labels?.[zoneLabel] ?? board.zone,
    ready: node === undefined ? "absent" : ready === "True" || ready === "False" ? ready : "Unknown",
    taints: (node?.spec?.taints ?? [])
      .map(({ key, effect }) => `${key.replace(/^node\.kubernetes\.io\//, "")}:${effect}`)
      .sort(),
    cordoned: node?.spec?.unschedulable ?? false,
  };
}

function zonesOf(boards: readonly BoardPicture[], judged: AgentReport["zones"]): readonly ZonePicture[] {
  return [...new Set(boards.map(({ zone }) => zone))].sort().map((name) => {
    const inside = boards.filter(({ zone }) => zone === name);
    const ready = inside.filter((board) => board.ready === "True").length;
    return { name, boards: inside.length, ready, state: judged.find((zone) => zone.name === name)?.state };
  });
}

function podPicture(pod: Pod, served: ReadonlySet<string>): PodPicture {
  const { name, namespace, uid, deletionTimestamp } = pod.metadata;
  return {
    key: `${namespace}/${name}`,
    uid,
    workload: workloadOf(pod),
    daemon: daemonOf(pod),
    board: pod.spec?.nodeName,
    phase: pod.status?.phase ?? "Pending",
    unplaced: pod.spec?.nodeName === undefined && isCondition(pod, "PodScheduled", "False"),
    ready: isCondition(pod, "Ready", "True"),
    served: served.has(uid),
    ending: deletionTimestamp !== undefined,
  };
}

const isCondition = ({ status }: Pod, type: string, wanted: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === wanted) ?? false;

/**
 * Whether the site is ready for a story to begin: every board is Ready and judged alive, there is a leader, and every
 * workload's pods are up.
 */
export const isHealthy = (site: SitePicture, wantedPods: number): boolean => lackOf(site, wantedPods).length === 0;

/** Why a site is not healthy, in words. */
export function lackOf({ leader, boards, pods }: SitePicture, wantedPods: number): readonly string[] {
  const silent = boards.filter(({ ready, power }) => ready !== "True" || power === "off").map(({ name }) => name);
  const doubted = boards
    .filter(({ ready, taints }) => ready === "True" && taints.some((taint) => /^(not-ready|unreachable):/.test(taint)))
    .map(({ name }) => name);
  const isWanted = ({ workload, daemon }: PodPicture): boolean => workload !== undefined || daemon !== undefined;
  const up = pods.filter((pod) => isWanted(pod) && pod.ready && !pod.ending).length;
  return [
    ...(leader === undefined ? ["no leader"] : []),
    ...(boards.length === 0 ? ["no boards yet"] : []),
    ...(silent.length > 0 ? [`not Ready: ${silent.join(", ")}`] : []),
    ...(doubted.length > 0 ? [`tainted as not ready: ${doubted.join(", ")}`] : []),
    ...(up < wantedPods ? [`${up} of ${wantedPods} pods are up`] : []),
  ];
}
