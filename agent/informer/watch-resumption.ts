import type { KubeObject } from "../api/meta.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { isOfLink } from "../client/api-error.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import type { ServerHistory } from "./server-history.ts";
import { StalledError } from "./stall-guard.ts";
import type { Replay, Trail } from "./trail.ts";
import { OtherHistoryError } from "./watch-errors.ts";

/** What proves the position that a watch resumes at. */
export interface PositionProof {
  readonly history: Pick<ServerHistory, "doubt" | "settle">;
  readonly trail: Trail;
}

/** So much of a watch has to come to what it has to say again, however far its server is behind. */
const longestReplay: Millis = 60_000;

/**
 * How a watch that broke goes on: where the server is known to have the history of the position, and with events that came
 * before and are only compared. Without a proof it goes on at the position.
 */
export class WatchResumption {
  readonly #proof: PositionProof | undefined;
  /** The watch broke, or has not begun: the server may have another history by now. */
  #isBroken = true;
  #from: string | undefined;
  #replay: Replay | undefined;

  constructor(proof: PositionProof | undefined) {
    this.#proof = proof;
  }

  /** Where the next watch begins, if not at the position of the store. */
  get from(): string | undefined {
    return this.#from;
  }

  /** What comes now came before. */
  get isReplaying(): boolean {
    return this.#replay !== undefined;
  }

  /** `error` undefined: the watch was ended on purpose. From now on no later witness proves what is stored. */
  broke(position: string | undefined, error: unknown): void {
    this.#isBroken = true;
    this.#proof?.trail.broke(position);
    if (error === undefined || isOfLink(error) || error instanceof StalledError) this.#proof?.history.doubt();
  }

  /** False: what is stored is not proven, and a list of what is newest has to replace it. */
  async prove(position: string | undefined, signal: AbortSignal): Promise<boolean> {
    if (!this.#isBroken && this.#proof?.trail.isOfChain !== false) return true;
    this.#from = this.#replay = undefined;
    const resumption = await this.#resumption(position, signal);
    this.#isBroken = false;
    if (resumption === undefined) return false;
    this.#from = resumption.from;
    this.#replay = resumption.replay;
    return true;
  }

  async #resumption(
    position: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly from?: string; readonly replay?: Replay | undefined } | undefined> {
    if (this.#proof === undefined || position === undefined) return {};
    await this.#proof.history.settle(signal);
    return this.#proof.trail.resume(position);
  }

  /** A list was taken in: the watch begins behind it. */
  listed(): void {
    this.#from = this.#replay = undefined;
    this.#isBroken = false;
  }

  /** What comes from now on is new. */
  flows(): void {
    this.#from = this.#replay = undefined;
    this.#proof?.trail.resumed();
  }

  /** Takes an event. again: it came before. last: it did too, and what follows is new. Throws where it is of another history. */
  take(event: WatchEvent<KubeObject>, what: string): "new" | "again" | "last" {
    const version = versionOf(event);
    if (version === undefined) return "new";
    if (this.#replay === undefined) {
      if (event.type === "BOOKMARK") this.#proof?.trail.heard();
      else this.#proof?.trail.add(version, ...stepOf(event));
      return "new";
    }
    const step =
      event.type === "BOOKMARK" ? this.#replay.reached(version) : this.#replay.take(version, ...stepOf(event));
    if (step === "differs") throw new OtherHistoryError(`${what}: it does not say what it said before`);
    return step === "done" ? "last" : "again";
  }

  /** A watch that began then is over. Throws where it should have come to what it had to say again. */
  ended(began: Instant, now: Instant, what: string): void {
    if (this.#replay === undefined) return;
    this.#isBroken = true;
    if (elapsed(began, now) >= longestReplay)
      throw new OtherHistoryError(`${what}: it did not say what it said before`);
  }
}

/** Undefined: it moves no position. */
function versionOf(event: WatchEvent<KubeObject>): string | undefined {
  switch (event.type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return event.object.metadata.resourceVersion;
    case "BOOKMARK":
    case "REJECTED":
      return event.resourceVersion;
    default:
      return undefined;
  }
}

const stepOf = (event: WatchEvent<KubeObject>): [uid: string, isDeletion: boolean] =>
  "object" in event ? [event.object.metadata.uid, event.type === "DELETED"] : ["", false];
