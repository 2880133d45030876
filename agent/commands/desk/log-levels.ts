import type { Memo } from "../../../storage/memo.ts";
import type { Ambient } from "../../base/ambient.ts";
import type { Timer } from "../../base/clock.ts";
import { isoTime } from "../../base/iso-time.ts";
import { isRecord } from "../../base/json.ts";
import {
  checkpoint,
  type LastingEnd,
  lastingEnd,
  lastingEndText,
  left,
  type Moment,
  readLastingEnd,
} from "../../base/lasting-end.ts";
import { levels } from "../../base/logger.ts";
import type { BoardControls } from "./board-controls.ts";
import { done, type Effect } from "./controls.ts";
import type { LevelOrder } from "./definition.ts";

interface Standing extends Omit<LevelOrder, "ttl"> {
  readonly end: LastingEnd;
}

const area = "log-level";
const key = "standing";

/** A temporary log level that survives restarts of agent and board. The latest order wins. */
export class LogLevels {
  readonly #ambient: Ambient;
  readonly #memo: Memo;
  readonly #board: Pick<BoardControls, "setLogLevel">;
  readonly #moment: () => Moment;
  #standing: Standing | undefined;
  #timer: Timer | undefined;

  constructor(
    ambient: Ambient,
    parts: { readonly memo: Memo; readonly board: Pick<BoardControls, "setLogLevel">; readonly moment: () => Moment },
  ) {
    this.#ambient = ambient;
    this.#memo = parts.memo;
    this.#board = parts.board;
    this.#moment = parts.moment;
  }

  /** Persisted first: a restart must neither end it early nor make it permanent. */
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

  /** Persists the remaining time, for a board that restarts without knowing the time. */
  end(): void {
    this.#timer?.cancel();
    if (this.#standing) this.#write({ ...this.#standing, end: checkpoint(this.#standing.end, this.#moment()) });
  }

  #apply(standing: Standing): void {
    this.#timer?.cancel();
    const rest = left(standing.end, this.#moment());
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
      // The stored end remains: the next start finds that it has passed.
      this.#ambient.log.debug("the end of a log level could not be written down", { error });
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
