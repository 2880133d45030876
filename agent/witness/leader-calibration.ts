import type { Ambient } from "../base/ambient.ts";
import { type Millis, sleep } from "../base/clock.ts";
import type { Announcement } from "./announcement.ts";
import type { Calibration } from "./calibration.ts";
import { QuestionPort, type QuestionPortDeps } from "./question-port.ts";

export interface LeaderCalibrationDeps extends QuestionPortDeps {
  readonly calibration: Calibration;
  /** The board that leads; undefined if none does, or this board itself. */
  readonly leader: () => string | undefined;
  /** Reads from the API where a board answers; undefined if it does not answer. */
  readonly read: (board: string, signal: AbortSignal) => Promise<Announcement | undefined>;
}

const lookEvery: Millis = 30_000;
/** How long to wait for an answer. */
const patience: Millis = 5000;

/**
 * Asks the leader's board once an hour while this board follows. If that board dies, the next leader has to know
 * whether it answered before, and no leader asks its own board.
 */
export class LeaderCalibration {
  readonly #ambient: Ambient;
  readonly #deps: LeaderCalibrationDeps;
  /**
   * The announcement of the leader that was asked last; undefined if it has to be read, because the last question
   * brought no answer.
   */
  #known: { readonly board: string; readonly announced: Announcement } | undefined;

  constructor(ambient: Ambient, deps: LeaderCalibrationDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    const { leader, calibration } = this.#deps;
    while (!signal.aborted) {
      await sleep(clock, lookEvery, signal);
      const board = signal.aborted ? undefined : leader();
      const now = clock.now();
      if (board === undefined || !calibration.isDue(board, now)) continue;
      calibration.tried(board, now);
      try {
        await this.#ask(board, signal);
      } catch (error) {
        log.debug("the leader was not asked on the LAN", { leader: board, error });
      }
    }
  }

  async #ask(board: string, signal: AbortSignal): Promise<void> {
    const { calibration, read } = this.#deps;
    const known = this.#known?.board === board ? this.#known.announced : undefined;
    this.#known = undefined;
    const announced = known ?? (await read(board, signal));
    if (announced === undefined) return;
    const port = new QuestionPort(this.#ambient, this.#deps, ({ heard }) => {
      if (heard !== undefined) calibration.heard(board, heard);
      this.#known = { board, announced };
    });
    try {
      if (!(await port.open(signal))) return;
      port.ask(board, announced);
      await sleep(this.#ambient.clock, patience, signal);
    } finally {
      port.close();
    }
  }
}
