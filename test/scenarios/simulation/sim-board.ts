import { Agent } from "../../../agent/assembly/agent.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import { dispositionOf } from "../../../agent/base/errors.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import type { Config } from "../../../agent/config/settings.ts";
import * as controlLoops from "../../../agent/leading/control-loops.ts";
import { witnessAnnotation } from "../../../agent/witness/announcement.ts";
import type { KeyFile } from "../../../agent/witness/board-key.ts";
import type { KubeletFile } from "../../../agent/witness/kubelet-health.ts";
import { SiteClient } from "../../../simulator/client/site-client.ts";
import { Kubelet, kubeletDefaults } from "../../../simulator/cluster/kubelet.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { BoardClock } from "./board-clock.ts";
import { BoardStorage, type CacheLoss } from "./board-storage.ts";
import { ComplaintLog } from "./complaint-log.ts";
import { Edge, type World } from "./edge.ts";
import type { Span, Trouble, TroubleKind } from "./history.ts";
import { push } from "./recorder.ts";
import { type Board, realWall } from "./schedule.ts";
import { broadcast, LanEdge } from "./sim-lan.ts";
import { SimProcess } from "./sim-process.ts";

interface RunningAgent {
  readonly process: SimProcess;
  readonly agent: Agent;
  readonly stop: AbortController;
  isOver: boolean;
}

/** A kubelet's request time-out. */
const kubeletTimeout: Millis = 10_000;
/** How often a board looks whether its Node still has its announcement. */
const announceEvery: Millis = 5000;
/** How long a leader may take to learn of an announcement: its watch of Nodes may be stalled. */
const learnsWithin: Millis = 100_000;
/** A process that does not stop in time is killed, as by systemd, but sooner. */
const patience: Millis = 30_000;

/** A file in memory that is synced at once. */
class HeldFile implements KeyFile, KubeletFile {
  #text: string | undefined;

  read(): string | undefined {
    return this.#text;
  }

  write(text: string): void {
    this.#text = text;
  }
}

/** One board with its clocks, disk, two paths to the API server, kubelet and agent. */
export class SimBoard {
  readonly plate: Board;
  readonly agentEdge: Edge;
  readonly kubeletEdge: Edge;
  readonly lanEdge: LanEdge;
  readonly storage = new BoardStorage();
  readonly #world: World;
  readonly #config: Config;
  readonly #clock: BoardClock;
  readonly #random: SeededRandom;
  readonly #nextId: () => number;
  readonly #troubles = new Map<object, Trouble>();
  readonly #mute = new Set<unknown>();
  readonly #keyFile = new HeldFile();
  readonly #kubeletFile = new HeldFile();
  #boot = "";
  /** How often its address on the LAN has changed. */
  #moves = 0;
  #announcedAt: Millis | undefined;
  #kubelet: SimProcess | undefined;
  #agent: RunningAgent | undefined;
  #isOn = false;
  #hasKubelet = true;

  constructor(
    world: World,
    deps: {
      readonly plate: Board;
      readonly config: Config;
      readonly random: SeededRandom;
      readonly nextId: () => number;
    },
  ) {
    const { plate, random } = deps;
    this.plate = plate;
    this.#world = world;
    this.#config = deps.config;
    this.#random = random;
    this.#nextId = deps.nextId;
    this.#clock = new BoardClock(world.time, plate);
    const edge = (): Edge => new Edge(world, { random: this.#seeded(), latency: plate.latency, pings: plate.pings });
    this.agentEdge = edge();
    this.kubeletEdge = edge();
    this.lanEdge = new LanEdge(world.lan, `10.9.0.${plate.number}`);
    for (const reason of ["agent", "announcement"]) this.muted(reason, true);
    if (deps.config.judgement.witness === "lan") this.#announce();
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Whether pods can run on it. */
  get isManaged(): boolean {
    return this.#isOn && this.#hasKubelet;
  }

  get agent(): RunningAgent | undefined {
    return this.#agent?.isOver ? undefined : this.#agent;
  }

  powerOn(wakesIn?: Millis): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#clock.boot(this.#random.integer(60_000));
    this.#clock.setWall(wakesIn ?? realWall + this.#world.time.now);
    this.#boot = this.#random.uuid();
    this.startKubelet();
    this.startAgent();
  }

  /** Syncs the cache to the card. */
  sync(): void {
    this.storage.checkpoint();
    this.#world.recorder.synced(this.plate.name);
  }

  /** Cuts the power without notice. */
  powerOff(loss: CacheLoss): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.killAgent();
    this.#end(this.#kubelet, this.kubeletEdge);
    this.#kubelet = undefined;
    this.#loseCache(loss);
  }

  #loseCache(loss: CacheLoss): void {
    this.storage.losePower(loss);
    this.#world.recorder.forgot(this.plate.name, loss);
  }

  startKubelet(): void {
    if (!this.#hasKubelet) return;
    const process = this.#process("kubelet");
    this.#kubelet = process;
    const { number, name, zone } = this.plate;
    const ambient = { clock: process, random: this.#seeded(), log: noopLogger };
    const exchange = this.kubeletEdge.send.bind(this.kubeletEdge, process);
    const client = new SiteClient(ambient, { exchange, timeout: kubeletTimeout, userAgent: "simulated-kubelet" });
    const kubelet = new Kubelet(ambient, {
      client,
      board: { name, zone, number },
      settings: kubeletDefaults,
      bootId: this.#boot,
    });
    void kubelet.run(new AbortController().signal).catch((error: unknown) => this.#complain("kubelet", error));
  }

  /** The kubelet ends, and none starts again. The board's word does not protect it any longer. */
  loseKubelet(): void {
    this.#hasKubelet = false;
    this.stopKubelet();
    this.troubled(this.#kubeletFile, "no kubelet");
    this.muted("kubelet", true);
  }

  startAgent(): void {
    if (!this.#isOn || this.agent) return;
    const process = this.#process("agent");
    const log = new ComplaintLog((text) => this.#complain("error", text));
    const agent = new Agent(
      { clock: process, random: this.#seeded(), log },
      {
        config: this.#config,
        folder: this.storage.folder(),
        transport: (request) => this.agentEdge.send(process, request),
        renewConnection: () => {},
        address: () => Promise.resolve("here"),
        controllers: () => Promise.resolve(controlLoops),
        bootId: this.#boot,
        place: this.plate.name,
        version: "0.0.0",
        witness: {
          lan: this.lanEdge.lanOf(process),
          keyFile: this.#keyFile,
          kubeletFile: this.#kubeletFile,
          askKubelet: () => Promise.resolve(this.#kubelet?.isDead === false ? "ok" : "silent"),
          askGateway: () => this.lanEdge.gatewayAnswers(),
          paths: () => () => "eth0",
          everyoneOn: () => [broadcast],
          addresses: () => [this.lanEdge.address],
        },
        rebuilt: undefined,
        barred: () => undefined,
        statusChanged: () => {},
      },
    );
    const running: RunningAgent = { process, agent, stop: new AbortController(), isOver: false };
    this.#agent = running;
    this.muted("agent", false);
    const over = (): void => {
      running.isOver = true;
      if (this.#agent === running) this.muted("agent", true);
    };
    void agent.run(running.stop.signal).then(over, (error: unknown) => {
      over();
      this.#ended(error, running);
    });
  }

  /** Stops the agent cleanly; kills it after a timeout. */
  stopAgent(): void {
    const running = this.agent;
    if (!running) return;
    this.muted("agent", true);
    running.stop.abort(new Error("stopped by the test"));
    this.#world.time.at(this.#world.time.now + patience, () => {
      if (this.agent === running) this.killAgent();
    });
  }

  killAgent(): void {
    if (this.#agent) {
      if (!this.#agent.isOver) this.#world.recorder.lost(this.#agent.process);
      this.#agent.isOver = true;
      this.muted("agent", true);
      this.#end(this.#agent.process, this.agentEdge);
    }
  }

  stepClock(by: Millis | "1970"): void {
    this.#clock.setWall(by === "1970" ? 0 : this.#clock.now().wall + by);
  }

  /** Marks the start of a fault in the board's own link to the API server, or of a time without power. */
  troubled(reason: object, what: TroubleKind): void {
    const trouble: Trouble = { what, from: this.#world.time.now, until: undefined };
    this.#troubles.set(reason, trouble);
    push(this.#world.recorder.history.troubles, this.plate.name, trouble);
  }

  /** Marks the end of a fault. */
  relieved(reason: object): void {
    const trouble = this.#troubles.get(reason);
    if (trouble) trouble.until = this.#world.time.now;
    this.#troubles.delete(reason);
  }

  /** Marks the start or end of a reason for which the board can neither ask nor answer on the LAN. */
  muted(reason: unknown, is: boolean): void {
    const { mute } = this.#world.recorder.history;
    const wasMute = this.#mute.size > 0;
    if (is) this.#mute.add(reason);
    else this.#mute.delete(reason);
    if (this.#mute.size > 0 === wasMute) return;
    const now = this.#world.time.now;
    if (is) push(mute, this.plate.name, { from: now, until: undefined });
    else {
      const last = mute.get(this.plate.name)?.at(-1);
      if (last) last.until = now;
    }
  }

  /** The board gets another address on the LAN. */
  moveOnLan(): void {
    this.lanEdge.move(`10.9.${++this.#moves}.${this.plate.number}`);
  }

  /** Cuts the board off the LAN; the returned function ends it. */
  cutLan(): () => void {
    const { lanCuts } = this.#world.recorder.history;
    const span: Span = { from: this.#world.time.now, until: undefined };
    push(lanCuts, this.plate.name, span);
    const mend = this.lanEdge.cut();
    this.muted(span, true);
    return () => {
      mend();
      span.until = this.#world.time.now;
      this.muted(span, false);
    };
  }

  /** Keeps the announcement on the board's Node, in place of the companion that does so in the program. */
  #announce(): void {
    const { api, time, recorder } = this.#world;
    const path = `/api/v1/nodes/${this.plate.name}`;
    const text = this.agent?.agent.announcement();
    const node = api.isUp ? api.stored(`nodes/${this.plate.name}`) : undefined;
    const isMissing = text !== undefined && node !== undefined && !node.includes(JSON.stringify(text));
    // With its key, but at a former address, it is asked by way of everyone on the LAN.
    if (isMissing && !node.includes(JSON.parse(text).key)) this.#announcedAt = undefined;
    if (isMissing && this.agentEdge.isClean) {
      const headers = { "content-type": "application/merge-patch+json" };
      const body = JSON.stringify({ metadata: { annotations: { [witnessAnnotation]: text } } });
      api.handle({ method: "PATCH", path, headers, body, signal: new AbortController().signal });
      recorder.changed(path);
      this.#announcedAt ??= time.now;
    }
    this.muted("announcement", this.#announcedAt === undefined || time.now - this.#announcedAt < learnsWithin);
    time.at(time.now + announceEvery, () => this.#announce());
  }

  close(): void {
    this.powerOff("none");
    this.storage.close();
  }

  stopKubelet(): void {
    this.#end(this.#kubelet, this.kubeletEdge);
  }

  #process(role: SimProcess["role"]): SimProcess {
    const { name } = this.plate;
    const process = new SimProcess(this.#world.time, { id: this.#nextId(), board: name, role, clock: this.#clock });
    this.#world.recorder.begun(process);
    return process;
  }

  #end(process: SimProcess | undefined, edge: Edge): void {
    if (process === undefined || process.isDead) return;
    process.kill();
    edge.forget(process);
  }

  /** Discards an unusable cache, as the program around the agent does. */
  #ended(error: unknown, { process }: RunningAgent): void {
    this.#world.recorder.lost(process);
    this.#end(process, this.agentEdge);
    if (dispositionOf(error) === "rebuild") {
      this.#loseCache("all");
      this.startAgent();
    } else {
      this.#complain("the agent ended", error);
    }
  }

  #complain(what: string, error: unknown): void {
    const text =
      error instanceof Error ? `${error.stack}${error.cause ? `\n${String(error.cause)}` : ""}` : String(error);
    const { recorder, time } = this.#world;
    recorder.history.complaints.push({ at: time.now, text: `${this.plate.name}: ${what}: ${text}` });
  }

  #seeded(): SeededRandom {
    return new SeededRandom(this.#random.integer(2 ** 32));
  }
}
