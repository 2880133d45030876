import type { Millis } from "../../../agent/base/clock.ts";
import { noopLogger } from "../../../agent/base/logger.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { BoardClock } from "./board-clock.ts";
import { PodKeeper } from "./pod-keeper.ts";
import { type Board, realWall, type Setting } from "./schedule.ts";
import { SimBoard } from "./sim-board.ts";
import { SimLan } from "./sim-lan.ts";
import { SimProcess } from "./sim-process.ts";
import { SimulatedApi } from "./simulated-api.ts";
import { configOf } from "./site-config.ts";
import { Tally } from "./tally.ts";
import { VirtualTime } from "./virtual-time.ts";

export interface FleetPlan {
  readonly sites: number;
  readonly boardsPerSite: number;
  readonly standby: "cold" | "warm";
  readonly seed: number;
}

const bootsWithin: Millis = 60_000;
const timing = { name: "unhurried", duration: 60_000, renewDeadline: 40_000, retry: 10_000 } as const;
const reset = "the connection was reset";

/** Many boards of one or several sites on one API server. Each site is a zone and selects its boards by that label. */
export class Fleet {
  readonly time = new VirtualTime();
  readonly api: SimulatedApi;
  readonly tally: Tally;
  readonly boards: readonly SimBoard[];
  readonly keeper: PodKeeper;
  readonly #random: SeededRandom;

  constructor({ sites, boardsPerSite, standby, seed }: FleetPlan) {
    const random = new SeededRandom(seed);
    const seeded = (): SeededRandom => new SeededRandom(random.integer(2 ** 32));
    const { time } = this;
    let processes = 0;
    const nextId = (): number => ++processes;
    const clock = new BoardClock(time, { pace: 1, wall: realWall });
    const server = new SimProcess(time, { id: nextId(), board: "server", role: "kubelet", clock });
    const plates = Array.from({ length: sites * boardsPerSite }, (_, index): Board => {
      const zone = `site-${(index % sites) + 1}`;
      const pace = 1 + (random.next() - 0.5) / 100;
      return { name: `pi-${index + 1}`, number: index + 1, zone, pace, wall: realWall, latency: 3, pings: true };
    });
    const setting: Setting = {
      boards: plates,
      policy: "kubernetes",
      standby,
      followers: "expiry",
      timing,
      evictionRate: 0.1,
      maxHarm: undefined,
      selects: false,
      pins: false,
      lan: "none",
    };
    this.#random = seeded();
    this.api = new SimulatedApi({ clock: server, random: seeded(), log: noopLogger });
    this.tally = new Tally(time, setting);
    const world = { time, api: this.api, recorder: this.tally, lan: new SimLan(time) };
    this.boards = plates.map((plate) => {
      const config = configOf(plate, setting);
      const nodeSelector = sites === 1 ? undefined : `topology.kubernetes.io/zone=${plate.zone}`;
      const site = { ...config.site, name: plate.zone, nodeSelector };
      const board = new SimBoard(world, { plate, config: { ...config, site }, random: seeded(), nextId });
      this.tally.listenIn(board);
      return board;
    });
    this.keeper = new PodKeeper(world, setting);
  }

  /** Boards are not all powered on at the same moment. */
  boot(): void {
    for (const board of this.boards) this.time.at(this.#random.next() * bootsWithin, () => board.powerOn());
    this.keeper.start();
  }

  /** The leaders of each site, by the boards' own status. */
  leaders(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, string[]>();
    for (const { plate, agent } of this.boards) {
      const leaders = found.get(plate.zone) ?? [];
      found.set(plate.zone, leaders);
      if (agent?.agent.elector.view().role === "leader") leaders.push(plate.name);
    }
    return found;
  }

  resetAll(): void {
    for (const { agentEdge, kubeletEdge } of this.boards) {
      agentEdge.reset(reset);
      kubeletEdge.reset(reset);
    }
  }

  /** The API server crashes and comes back after a while. */
  crash(length: Millis): void {
    this.api.stop();
    this.resetAll();
    this.time.at(this.time.now + length, () => this.api.start({ forgetful: false }));
  }

  close(): void {
    for (const board of this.boards) board.close();
    this.api.close();
    this.time.dispose();
  }
}
