import type {
  ControllerRevision,
  DaemonSet,
  EndpointSlice,
  Endpoints,
  Lease,
  Node,
  Pod,
  ReplicaSet,
  Service,
} from "../agent/api/core.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  leases,
  nodes,
  pods,
  replicaSets,
  services,
} from "../agent/api/resources.ts";
import type { Ambient } from "../agent/base/ambient.ts";
import { type Millis, sleep } from "../agent/base/clock.ts";
import { TaskGroup } from "../agent/base/concurrency/tasks.ts";
import { sentenceOf } from "../agent/base/errors.ts";
import { type AgentCommand, AgentProcess } from "./boards/agent-process.ts";
import { Relay } from "./boards/relay.ts";
import { SimulatedBoard } from "./boards/simulated-board.ts";
import { HttpExchange } from "./client/http-exchange.ts";
import { Mirror } from "./client/mirror.ts";
import { SiteClient } from "./client/site-client.ts";
import type { BoardPlate } from "./cluster/board-node.ts";
import { Collector } from "./cluster/collector.ts";
import { newerImage } from "./cluster/daemons.ts";
import { Kubelet } from "./cluster/kubelet.ts";
import { Scheduler } from "./cluster/scheduler.ts";
import { WorkloadKeeper, workloadNamespace } from "./cluster/workloads.ts";
import { boardNames, type Deed, type Scenario, type ScenarioVerb, zoneOf } from "./scenarios/scenario.ts";
import { ScenarioSeeder } from "./scenarios/scenario-seeder.ts";
import type { StoryStage } from "./scenarios/story.ts";
import { type AgentReport, type BoardPicture, pictureOf, type SitePicture } from "./view/site-picture.ts";

/** The API server of the site, which lives in this process. */
export interface SiteServer {
  readonly port: number;
  readonly isUp: boolean;
  /** Makes the API server unavailable for this long. It returns with its data. */
  restart(pause: Millis, signal: AbortSignal): Promise<void>;
}

/** Request timeout of the kubelets. The other clients' requests do not leave this process. */
const timeout: Millis = 10_000;
/** Longest time for which the first board runs alone. */
const headStart: Millis = 5000;
/** How long the creation of workloads waits for all boards to be ready. */
const gathering: Millis = 15_000;

interface Linked {
  readonly board: SimulatedBoard;
  close(): Promise<void>;
}

/**
 * A whole site around an API server: boards with kubelets and real agents, a scheduler and a workload controller.
 * Scenarios are played on it, and the table shows it.
 */
export class EmbeddedSite implements StoryStage {
  readonly #ambient: Ambient;
  readonly #scenario: Scenario;
  readonly #server: SiteServer;
  readonly #agentOf: (board: BoardPlate, port: number) => AgentCommand;
  readonly #reportOf: (board: string) => AgentReport | undefined;
  readonly #exchange: HttpExchange;
  readonly #client: SiteClient;
  readonly #nodes: Mirror<Node>;
  readonly #pods: Mirror<Pod>;
  readonly #lease: Mirror<Lease>;
  readonly #replicaSets: Mirror<ReplicaSet>;
  readonly #daemonSets: Mirror<DaemonSet>;
  readonly #revisions: Mirror<ControllerRevision>;
  readonly #services: Mirror<Service>;
  readonly #endpoints: Mirror<Endpoints>;
  readonly #slices: Mirror<EndpointSlice>;
  /** Scenario actions that take time; stopped with the site. */
  readonly #deeds = new TaskGroup();
  #boards: readonly SimulatedBoard[] = [];

  constructor(
    ambient: Ambient,
    deps: {
      readonly scenario: Scenario;
      readonly server: SiteServer;
      /** Namespace and name of the agents' Lease. */
      readonly lease: { readonly namespace: string; readonly name: string };
      /** How to start the agent of the board whose link has this port. */
      readonly agentOf: (board: BoardPlate, port: number) => AgentCommand;
      readonly reportOf: (board: string) => AgentReport | undefined;
    },
  ) {
    this.#ambient = ambient;
    this.#scenario = deps.scenario;
    this.#server = deps.server;
    this.#agentOf = deps.agentOf;
    this.#reportOf = deps.reportOf;
    this.#exchange = new HttpExchange(deps.server.port);
    const client = new SiteClient(ambient, { exchange: this.#exchange.exchange, timeout, userAgent: "siteward-up" });
    const { namespace, name } = deps.lease;
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    this.#client = client;
    this.#nodes = new Mirror(ambient, { client, resource: nodes });
    this.#pods = new Mirror(ambient, { client, resource: pods });
    this.#lease = new Mirror(ambient, { client, resource: leases, scope });
    this.#replicaSets = new Mirror(ambient, { client, resource: replicaSets });
    this.#daemonSets = new Mirror(ambient, { client, resource: daemonSets });
    this.#revisions = new Mirror(ambient, { client, resource: controllerRevisions });
    this.#services = new Mirror(ambient, { client, resource: services });
    this.#endpoints = new Mirror(ambient, { client, resource: endpoints });
    this.#slices = new Mirror(ambient, { client, resource: endpointSlices });
  }

  /** Number of pods that the workloads and the daemons request. */
  get wantedPods(): number {
    const { workloads, daemons, boards } = this.#scenario;
    return workloads.reduce((sum, { replicas }) => sum + replicas, daemons.length * boards);
  }

  picture(): SitePicture {
    return pictureOf({
      apiUp: this.#server.isUp,
      boards: this.#boards.map(({ plate, power, link, agent }) => ({
        name: plate.name,
        zone: plate.zone,
        power,
        link,
        agent: agent.state,
        memory: agent.memory(),
        report: agent.state === "running" ? this.#reportOf(plate.name) : undefined,
      })),
      nodes: this.#nodes.values(),
      pods: this.#pods.values(),
      lease: this.#lease.values().next().value,
      daemonSets: this.#daemonSets.values(),
      services: this.#services.values(),
      slices: this.#slices.values(),
    });
  }

  /** Runs until the signal aborts. The agents are stopped first, while the API can still receive their last writes. */
  async run(signal: AbortSignal): Promise<void> {
    const surroundings = new TaskGroup();
    for (const [name, part] of Object.entries(this.#surroundings())) {
      surroundings.start(name, (ended) => part.run(ended));
    }
    const linked = await Promise.all(this.#plates().map((plate) => this.#link(plate)));
    this.#boards = linked.map(({ board }) => board);
    const running = new TaskGroup(signal);
    const [first, ...others] = this.#boards;
    // Boards may boot in any order. Here pi-1 boots first, so that scenarios that name boards always start in the same
    // way.
    if (first) running.start(first.plate.name, (ended) => first.run(ended));
    await this.#until(() => this.picture().leader !== undefined, headStart, signal);
    for (const board of others) running.start(board.plate.name, (ended) => board.run(ended));
    // Pods are created once all boards can run them, so that every board gets some.
    await this.#until(() => this.picture().boards.every(isOpen), gathering, signal);
    surroundings.start("workloads", (ended) => this.#keeper().run(ended));
    surroundings.start("wishes", (ended) => this.#wishes().run(ended));
    await running.join();
    this.#deeds.stop();
    await this.#deeds.join();
    surroundings.stop();
    await surroundings.join();
    await Promise.all(linked.map(({ close }) => close()));
    this.#exchange.close();
  }

  /** Kills everything immediately, if there is no time for a clean stop. */
  kill(): void {
    for (const { agent } of this.#boards) agent.kill();
  }

  perform(deed: Deed, boards: readonly string[]): void {
    if (deed.targets.includes("api")) {
      this.#deeds.start("restart of the API server", (ended) => this.#server.restart(deed.for, ended));
    }
    if (deed.verb === "roll") {
      for (const name of deed.targets) this.#deeds.start(`roll of ${name}`, (ended) => this.#roll(name, ended));
    }
    for (const board of this.#boards) if (boards.includes(board.plate.name)) this.#performOn(board, deed);
  }

  #performOn(board: SimulatedBoard, deed: Deed): void {
    const deeds: Readonly<Record<ScenarioVerb, () => void>> = {
      "power-off": () => board.powerOff(),
      "power-on": () => board.powerOn(),
      cut: () => board.cut(deed.how),
      restore: () => board.restore(),
      slow: () => board.slow(deed.delay),
      flap: () => board.flap(deed.down, deed.up),
      suspend: () => board.agent.suspend(),
      resume: () => board.agent.resume(),
      roll: () => undefined,
      restart: () => this.#deeds.start(`restart of ${board.plate.name}`, (ended) => board.restart(deed.for, ended)),
    };
    deeds[deed.verb]();
  }

  #surroundings(): Readonly<Record<string, { run(signal: AbortSignal): Promise<void> }>> {
    const deps = { client: this.#client, nodes: this.#nodes, pods: this.#pods };
    const scheduler = new Scheduler(this.#ambient, deps);
    const mirrors = { nodes: this.#nodes, pods: this.#pods, lease: this.#lease, replicaSets: this.#replicaSets };
    const more = {
      daemonSets: this.#daemonSets,
      revisions: this.#revisions,
      services: this.#services,
      endpoints: this.#endpoints,
      slices: this.#slices,
    };
    return { ...mirrors, ...more, scheduler, collector: this.#collector() };
  }

  #collector(): Collector {
    const owners = [
      { resource: replicaSets, mirror: this.#replicaSets },
      { resource: daemonSets, mirror: this.#daemonSets },
      { resource: services, mirror: this.#services },
      { resource: endpoints, mirror: this.#endpoints },
    ];
    const dependents = [
      { resource: pods, mirror: this.#pods },
      { resource: controllerRevisions, mirror: this.#revisions },
      { resource: endpointSlices, mirror: this.#slices },
    ];
    return new Collector(this.#ambient, { client: this.#client, owners, dependents });
  }

  #wishes(): ScenarioSeeder {
    const { daemons, workloads } = this.#scenario;
    return new ScenarioSeeder(this.#ambient, { client: this.#client, daemons, workloads });
  }

  /** Starts a rollout, like an operator's kubectl set image. If it fails, so do the expectations. */
  async #roll(name: string, signal: AbortSignal): Promise<void> {
    const known = this.#daemonSets.get(`${workloadNamespace}/${name}`);
    if (known === undefined) return;
    try {
      await this.#client.patch(daemonSets, { namespace: workloadNamespace, name }, "merge", newerImage(known), signal);
    } catch (error) {
      this.#ambient.log.warn("a daemon was not rolled", { name, error: sentenceOf(error) });
    }
  }

  #keeper(): WorkloadKeeper {
    const { workloads } = this.#scenario;
    const deps = { client: this.#client, pods: this.#pods, replicaSets: this.#replicaSets, workloads };
    return new WorkloadKeeper(this.#ambient, deps);
  }

  #plates(): readonly BoardPlate[] {
    const { boards, zones } = this.#scenario;
    return boardNames(boards).map((name, index) => ({ name, number: index + 1, zone: zoneOf(index + 1, zones) }));
  }

  async #link(plate: BoardPlate): Promise<Linked> {
    const relay = new Relay(this.#ambient, { target: this.#server.port });
    const { port, close } = await relay.listen();
    const agent = new AgentProcess(this.#ambient, { command: this.#agentOf(plate, port) });
    const boot = (signal: AbortSignal): Promise<void> => this.#boot(plate, port, signal);
    return { board: new SimulatedBoard(this.#ambient, { plate, relay, agent, boot }), close };
  }

  /** Runs one boot's kubelet with its own connections, because a restarted board opens new ones. */
  async #boot(board: BoardPlate, port: number, signal: AbortSignal): Promise<void> {
    const http = new HttpExchange(port);
    const client = new SiteClient(this.#ambient, { exchange: http.exchange, timeout, userAgent: "simulated-kubelet" });
    await new Kubelet(this.#ambient, { client, board, settings: this.#scenario.kubelet }).run(signal);
    http.close();
  }

  async #until(holds: () => boolean, limit: Millis, signal: AbortSignal): Promise<void> {
    for (let waited = 0; waited < limit && !signal.aborted && !holds(); waited += 100) {
      await sleep(this.#ambient.clock, 100, signal);
    }
  }
}

const isOpen = ({ ready, taints }: BoardPicture): boolean => ready === "True" && taints.length === 0;
