import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { AgentProcess } from "../agent-process.ts";
import { KubeSite } from "../kube/kube-site.ts";
import { boardName, fillBoards } from "../load.ts";
import { cloud, SiteNetwork } from "./site-network.ts";

/** Owns the pods: one without a controller would stay on a lost board. */
const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "app", uid: "uid-app", controller: true };

/**
 * A site whose boards are in network namespaces of their own, with a real API server that they reach by their uplinks
 * only. Each board runs a kubelet's heartbeats and, if there is a configuration for it, an agent.
 */
export class NetworkedSite {
  readonly kube = new KubeSite();
  readonly network: SiteNetwork;
  readonly agents: AgentProcess[] = [];
  readonly #boards: number;
  readonly #config: Readonly<Record<string, object>> | undefined;
  readonly #kubelets = new Map<number, ChildProcess>();
  #relays: readonly ChildProcess[] = [];

  constructor(boards: number, config?: Readonly<Record<string, object>>) {
    this.#boards = boards;
    this.#config = config;
    this.network = new SiteNetwork(boards);
  }

  get #kubeconfig(): string {
    return path.join(this.kube.cluster.dir, "uplink.kubeconfig");
  }

  async start(): Promise<void> {
    const { cluster } = this.kube;
    await this.kube.start();
    this.network.start();
    this.#connectCloud();
    const config = JSON.parse(cluster.kubeconfigFor(`https://${cloud.address}:${cloud.port}`));
    config.clusters[0].cluster["tls-server-name"] = cloud.name;
    writeFileSync(this.#kubeconfig, JSON.stringify(config), { mode: 0o600 });
    await fillBoards(cluster, { nodes: this.#boards, pods: 0, seed: 1 });
    for (let board = 0; board < this.#boards; board++) {
      await this.#inOneZone(board);
    }
    this.powerOn();
  }

  /** Starts the kubelets and the agents of all boards that are off. */
  powerOn(): void {
    for (let board = 0; board < this.#boards; board++) {
      if (this.#kubelets.has(board)) continue;
      const program = path.join(import.meta.dirname, "kubelet.ts");
      this.#kubelets.set(board, this.#run(board, program, this.#kubeconfig, boardName(board)));
      if (this.#config === undefined) continue;
      const agent =
        this.agents[board] ??
        new AgentProcess({
          dir: this.kube.cluster.dir,
          board: boardName(board),
          kubeconfig: this.#kubeconfig,
          config: this.#config,
          through: this.network.through(board),
        });
      this.agents[board] = agent;
      agent.start();
    }
  }

  async powerOff(board: number): Promise<void> {
    this.#kubelets.get(board)?.kill("SIGKILL");
    this.#kubelets.delete(board);
    await this.agents[board]?.stop("SIGKILL");
  }

  get leader(): AgentProcess | undefined {
    return this.agents.find((agent) => agent.leads);
  }

  /** The number of the board that leads; -1 if none does. */
  get leading(): number {
    return this.agents.findIndex((agent) => agent.leads);
  }

  /**
   * Runs a pod that tolerates the loss of its board for two seconds. A former one that is being deleted is gone first, as
   * after the return of its kubelet.
   */
  async runPod(board: number): Promise<void> {
    const name = `app-${board}`;
    const tolerate = (key: string): object => ({
      key: `node.kubernetes.io/${key}`,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 2,
    });
    const { cluster } = this.kube;
    const former = `/api/v1/namespaces/default/pods/${name}?gracePeriodSeconds=0`;
    await cluster.request("DELETE", former).catch(() => undefined);
    await cluster.request("POST", "/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", ownerReferences: [replicaSet] },
      spec: {
        nodeName: boardName(board),
        terminationGracePeriodSeconds: 1,
        tolerations: ["unreachable", "not-ready"].map(tolerate),
        containers: [{ name: "main", image: "example/app:1" }],
      },
    });
    const started = { phase: "Running", startTime: new Date().toISOString().replace(/\.\d+Z/, "Z") };
    const at = `/api/v1/namespaces/default/pods/${name}/status`;
    await cluster.request("PATCH", at, { status: started }, "application/merge-patch+json");
  }

  async stop(): Promise<void> {
    for (let board = 0; board < this.#boards; board++) await this.powerOff(board);
    for (const relay of this.#relays) relay.kill("SIGKILL");
    await this.kube.stop();
    this.network.stop();
  }

  /** The cloud's namespace reaches the API server through a Unix socket. */
  #connectCloud(): void {
    const { cluster } = this.kube;
    const socket = path.join(cluster.dir, "cloud.sock");
    const relay = path.join(import.meta.dirname, "relay.ts");
    this.#relays = [
      this.#run("host", relay, socket, new URL(cluster.server).host),
      this.#run("cloud", relay, `${cloud.address}:${cloud.port}`, socket),
    ];
  }

  async #inOneZone(board: number): Promise<void> {
    const labels = { "topology.kubernetes.io/zone": "site" };
    const at = `/api/v1/nodes/${boardName(board)}`;
    await this.kube.cluster.request("PATCH", at, { metadata: { labels } }, "application/merge-patch+json");
  }

  #run(place: number | "cloud" | "host", program: string, ...args: readonly string[]): ChildProcess {
    const through = place === "host" ? [] : this.network.through(place);
    const [command = "", ...words] = [...through, process.execPath, program, ...args];
    return spawn(command, words, { stdio: ["ignore", "ignore", "inherit"] });
  }
}
