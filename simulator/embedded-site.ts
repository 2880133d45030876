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
import { sentenceOf } from "../agent/base/errors.ts";
import { TaskGroup } from "../agent/base/tasks.ts";
import { type AgentCommand, AgentProcess } from "./agent-process.ts";
import type { BoardPlate } from "./board-node.ts";
import { Collector } from "./collector.ts";
import { newerImage } from "./daemons.ts";
import { HttpExchange } from "./http-exchange.ts";
import { Kubelet } from "./kubelet.ts";
import { Mirror } from "./mirror.ts";
import { Relay } from "./relay.ts";
import { boardNames, type Deed, type Scenario, type Verb, zoneOf } from "./scenario.ts";
import { ScenarioSeeder } from "./scenario-seeder.ts";
import { Scheduler } from "./scheduler.ts";
import { SimulatedBoard } from "./simulated-board.ts";
import { SiteClient } from "./site-client.ts";
import { type AgentReport, type BoardPicture, pictureOf, type SitePicture } from "./site-picture.ts";
import type { Stage } from "./story.ts";
import { WorkloadKeeper, workloadNamespace } from "./workloads.ts";

/** The API server of the site, which lives in this process. */
export interface SiteServer {
  readonly port: number;
  readonly isUp: boolean;
  /** Gone for so long, then there again with what it had. */
  restart(pause: Millis, signal: AbortSignal): Promise<void>;
}

/** A kubelet's request time-out; the others' requests do not leave this process. */
const timeout: Millis = 10_000;
/** How long the first board may be ahead of the others. */
const headStart: Millis = 5000;
/** How long the workloads wait for all boards. */
const gathering: Millis = 15_000;

interface Linked {
  readonly board: SimulatedBoard;
  close(): Promise<void>;
}

/**
 * A whole site around an API server: boards with kubelets and real agents, a scheduler and a keeper of workloads. It is
 * what a story is played on, and what the table shows.
 */
export class EmbeddedSite implements Stage {
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
  /** Deeds that take time; stopped with the site. */
  readonly #deeds = new TaskGroup();
  #boards: readonly SimulatedBoard[] = [];

  constructor(
    ambient: Ambient,
    parts: {
      readonly scenario: Scenario;
      readonly server: SiteServer;
      /** Where the agents' Lease lies. */
      readonly lease: { readonly namespace: string; readonly name: string };
      /** How the agent of a board is started whose link is this port. */
      readonly agentOf: (board: BoardPlate, port: number) => AgentCommand;
      readonly reportOf: (board: string) => AgentReport | undefined;
    },
  ) {
    this.#ambient = ambient;
    this.#scenario = parts.scenario;
    this.#server = parts.server;
    this.#agentOf = parts.agentOf;
    this.#reportOf = parts.reportOf;
    this.#exchange = new HttpExchange(parts.server.port);
    const client = new SiteClient(ambient, { exchange: this.#exchange.exchange, timeout, userAgent: "siteward-up" });
    const { namespace, name } = parts.lease;
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

  /** How many pods the workloads and the daemons ask for. */
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

  /** Until the signal aborts. The agents end first, while there is still an API to say goodbye to. */
  async run(signal: AbortSignal): Promise<void> {
    const surroundings = new TaskGroup();
    for (const [name, part] of Object.entries(this.#surroundings())) {
      surroundings.start(name, (ended) => part.run(ended));
    }
    const linked = await Promise.all(this.#plates().map((plate) => this.#link(plate)));
    this.#boards = linked.map(({ board }) => board);
    const running = new TaskGroup(signal);
    const [first, ...others] = this.#boards;
    // Sites boot in any order. This one begins with pi-1, so that stories that name their boards begin alike.
    if (first) running.start(first.plate.name, (ended) => first.run(ended));
    await this.#until(() => this.picture().leader !== undefined, headStart, signal);
    for (const board of others) running.start(board.plate.name, (ended) => board.run(ended));
    // And its pods come when all boards can take them, so that each has some to lose.
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

  /** At once and without a word, for where there is no time to stop in good order. */
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
    const deeds: Readonly<Record<Verb, () => void>> = {
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
    const parts = { client: this.#client, nodes: this.#nodes, pods: this.#pods };
    const scheduler = new Scheduler(this.#ambient, parts);
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

  /** As somebody would with kubectl set image: a failure is told by what does not come true. */
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
    const parts = { client: this.#client, pods: this.#pods, replicaSets: this.#replicaSets, workloads };
    return new WorkloadKeeper(this.#ambient, parts);
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

  /** Connections belong to a boot: a board that starts again opens new ones. */
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
