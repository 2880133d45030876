import type { Memo } from "../../../storage/memo.ts";
import type { Ambient } from "../../base/ambient.ts";
import type { Timer } from "../../base/clock.ts";
import { isRecord } from "../../base/json.ts";
import { levels } from "../../base/logger.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import {
  checkpoint,
  type LastingEnd,
  lastingEnd,
  lastingEndText,
  type Moment,
  readLastingEnd,
  remainingTime,
} from "../../base/time/lasting-end.ts";
import type { BoardControls } from "./board-controls.ts";
import { done, type Effect } from "./controls.ts";
import type { LevelOrder } from "./definitions/definition.ts";

interface Standing extends Omit<LevelOrder, "ttl"> {
  readonly end: LastingEnd;
}

const area = "log-level";
const key = "standing";

/** Keeps a temporary log level in force, even across restarts of the agent and the board. A newer order replaces it. */
export class LogLevels {
  readonly #ambient: Ambient;
  readonly #memo: Memo;
  readonly #board: Pick<BoardControls, "setLogLevel">;
  readonly #moment: () => Moment;
  #standing: Standing | undefined;
  #timer: Timer | undefined;

  constructor(
    ambient: Ambient,
    deps: { readonly memo: Memo; readonly board: Pick<BoardControls, "setLogLevel">; readonly moment: () => Moment },
  ) {
    this.#ambient = ambient;
    this.#memo = deps.memo;
    this.#board = deps.board;
    this.#moment = deps.moment;
  }

  /** Sets the level. Persists it first, so that a restart neither ends it early nor makes it permanent. */
  set({ ttl, ...order }: LevelOrder): Effect {
    const end = lastingEnd(ttl, this.#moment());
    this.#write({ ...order, end });
    this.#apply({ ...order, end });
    return done({ ...order, until: isoTime(end.until) });
  }

  /** Restores the level set by the previous process. */
  begin(): void {
    const found = readStanding(this.#memo.get(area, key));
    if (found) this.#apply(found);
  }

  /** Persists the remaining time, in case the board restarts with an unsynchronised clock. */
  end(): void {
    this.#timer?.cancel();
    if (this.#standing) this.#write({ ...this.#standing, end: checkpoint(this.#standing.end, this.#moment()) });
  }

  #apply(standing: Standing): void {
    this.#timer?.cancel();
    const rest = remainingTime(standing.end, this.#moment());
    if (rest <= 0) this.#back();
    else {
      this.#standing = standing;
      this.#board.setLogLevel(standing.level, standing.component);
      this.#timer = this.#ambient.clock.after(rest, () => this.#back());
    }
  }

  #back(): void {
    this.#standing = undefined;
    this.#board.setLogLevel(undefined);
    try {
      this.#memo.delete(area, key);
    } catch (error) {
      // The stored level remains; the next start finds that it has expired.
      this.#ambient.log.debug("an expired log level could not be deleted", { error });
    }
  }

  #write({ end, ...order }: Standing): void {
    this.#memo.set(area, key, JSON.stringify({ ...order, end: lastingEndText(end) }));
  }
}

function readStanding(text: string | undefined): Standing | undefined {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isRecord(value) || typeof value.end !== "string") return undefined;
  const [level, end] = [levels.find((one) => one === value.level), readLastingEnd(value.end)];
  const component = typeof value.component === "string" ? value.component : undefined;
  return level && end && { level, component, end };
}
