import { AgentProcess, type AgentStatus } from "../agent-process.ts";
import { boardName, renew } from "../load.ts";
import { type Audited, assets, KubeCluster } from "./kube-cluster.ts";

interface LeaseObject {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly object[];
  };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseTransitions?: number;
    readonly leaseDurationSeconds?: number;
  };
}

interface NodeObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
  };
}

/** A site for a story: a real API server, boards whose heartbeats are simulated, and real agents. */
export class KubeSite {
  readonly cluster: KubeCluster;
  readonly agents: AgentProcess[] = [];
  readonly #beating = new Set<number>();
  #timer: NodeJS.Timeout | undefined;

  /** `flags`: more of the API server's. */
  constructor(flags: Readonly<Record<string, string>> = {}) {
    this.cluster = new KubeCluster(flags);
  }

  async start(): Promise<void> {
    if (assets === undefined) throw new Error("no servers to start");
    await this.cluster.start();
    this.#timer = setInterval(() => {
      for (const i of this.#beating) renew(this.cluster, i).catch(() => undefined);
    }, 1000);
  }

  /** From now on, sends heartbeats for these boards once a second. */
  beat(...boards: readonly number[]): void {
    for (const board of boards) this.#beating.add(board);
  }

  silence(...boards: readonly number[]): void {
    for (const board of boards) this.#beating.delete(board);
  }

  agent(
    board: string,
    config: Readonly<Record<string, object | string>> = {},
    kubeconfig = this.cluster.kubeconfig,
  ): AgentProcess {
    const agent = new AgentProcess({ dir: this.cluster.dir, board, kubeconfig, config });
    this.agents.push(agent);
    agent.start();
    return agent;
  }

  get leader(): AgentProcess | undefined {
    return this.agents.find((agent) => agent.leads);
  }

  statusOf(agent: AgentProcess): AgentStatus {
    const status = agent.status();
    if (!status) throw new Error(`${agent.board} has written no status; its log ends: ${agent.log().slice(-800)}`);
    return status;
  }

  lease(name = "siteward-default", namespace = "kube-system"): Promise<LeaseObject> {
    return this.cluster.request("GET", `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`);
  }

  node(i: number): Promise<NodeObject> {
    return this.cluster.request("GET", `/api/v1/nodes/${boardName(i)}`);
  }

  async taints(i: number): Promise<readonly string[]> {
    const { spec } = await this.node(i);
    return (spec.taints ?? []).map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`).sort();
  }

  async annotations(i: number): Promise<Readonly<Record<string, string>>> {
    return (await this.node(i)).metadata.annotations ?? {};
  }

  async ready(i: number): Promise<string | undefined> {
    const { status } = await this.node(i);
    return status.conditions.find(({ type }) => type === "Ready")?.status;
  }

  async podNames(): Promise<readonly string[]> {
    const { items } = await this.cluster.request<{
      items: readonly { metadata: { name: string; deletionTimestamp?: string } }[];
    }>("GET", "/api/v1/namespaces/default/pods");
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name);
  }

  /** The requests that an agent sent, according to the server's audit log. */
  requestsOf(agent: AgentProcess): readonly Audited[] {
    return this.cluster
      .audit()
      .filter(({ userAgent }) => userAgent?.startsWith("siteward/") && userAgent.includes(`(${agent.board})`));
  }

  writesOf(agent: AgentProcess): readonly Audited[] {
    return this.requestsOf(agent).filter(({ verb }) => !["get", "list", "watch"].includes(verb));
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const agent of this.agents) await agent.stop("SIGKILL");
    await this.cluster.stop();
  }
}
