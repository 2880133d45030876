import { noopLogger } from "../../../agent/base/logger.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { BoardClock } from "./board-clock.ts";
import { emptyHistory } from "./history.ts";
import { PodKeeper } from "./pod-keeper.ts";
import { Recorder } from "./recorder.ts";
import { realWall, type Schedule } from "./schedule.ts";
import { SimBoard } from "./sim-board.ts";
import { SimLan } from "./sim-lan.ts";
import { SimProcess } from "./sim-process.ts";
import { SimulatedApi } from "./simulated-api.ts";
import { configOf } from "./site-config.ts";
import { VirtualTime } from "./virtual-time.ts";

/** The interval at which caches are synced to disk. */
const checkpointEvery = 60_000;

/** The boards of a site and their API server, in one process and on one virtual time. */
export class Site {
  readonly time = new VirtualTime();
  readonly boards: readonly SimBoard[];
  readonly api: SimulatedApi;
  readonly recorder: Recorder;
  readonly keeper: PodKeeper;

  constructor({ setting, seed }: Schedule, { everything }: { readonly everything: boolean }) {
    const random = new SeededRandom(seed ^ 0x5eed);
    const history = emptyHistory(setting);
    const { time } = this;
    this.recorder = new Recorder(time, history, { everything });
    let processes = 0;
    const nextId = (): number => ++processes;
    const clock = new BoardClock(time, { pace: 1, wall: realWall });
    const server = new SimProcess(time, { id: nextId(), board: "server", role: "kubelet", clock });
    const seeded = (): SeededRandom => new SeededRandom(random.integer(2 ** 32));
    this.api = new SimulatedApi({ clock: server, random: seeded(), log: noopLogger });
    this.recorder.attach(this.api);
    const world = { time, api: this.api, recorder: this.recorder, lan: new SimLan(time) };
    this.boards = setting.boards.map(
      (plate) => new SimBoard(world, { plate, config: configOf(plate, setting), random: seeded(), nextId }),
    );
    this.keeper = new PodKeeper(world, setting);
    this.#checkpoints(seeded());
  }

  board(name: string): SimBoard | undefined {
    return this.boards.find(({ plate }) => plate.name === name);
  }

  /** The board whose agent currently holds the Lease, according to the API server. */
  get leader(): SimBoard | undefined {
    const holder = this.recorder.history.leases.at(-1)?.lease?.holder ?? "";
    return this.board(holder.slice(0, holder.lastIndexOf("_")));
  }

  close(): void {
    for (const board of this.boards) board.close();
    this.api.close();
    this.time.dispose();
  }

  #checkpoints(random: SeededRandom): void {
    const next = (): void => {
      this.time.at(this.time.now + checkpointEvery * random.next(), () => {
        for (const board of this.boards) if (random.next() < 0.3) board.sync();
        next();
      });
    };
    next();
  }
}
