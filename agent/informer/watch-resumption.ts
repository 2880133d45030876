import type { KubeObject } from "../api/meta.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { isOfLink } from "../client/api-error.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import type { ServerHistory } from "./server-history.ts";
import { StalledError } from "./stall-guard.ts";
import type { Replay, Trail } from "./trail.ts";
import { OtherHistoryError } from "./watch-errors.ts";

/** Proves the position that a watch resumes at. */
export interface PositionProof {
  readonly history: Pick<ServerHistory, "doubt" | "settle">;
  readonly trail: Trail;
}

/** A watch must deliver all replayed events within this time, however far its server is behind. */
const longestReplay: Millis = 60_000;

/**
 * How a broken watch resumes: at a position whose history the server is known to have, first comparing replayed events
 * with the earlier ones. Without a proof it resumes at the stored position.
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

  /** Where the next watch begins, if not at the store's position. */
  get from(): string | undefined {
    return this.#from;
  }

  /** The events arriving now were received before. */
  get isReplaying(): boolean {
    return this.#replay !== undefined;
  }

  /** `error` undefined: the watch was ended on purpose. From now on no later witness proves the stored state. */
  broke(position: string | undefined, error: unknown): void {
    this.#isBroken = true;
    this.#proof?.trail.broke(position);
    if (error === undefined || isOfLink(error) || error instanceof StalledError) this.#proof?.history.doubt();
  }

  /** False: the stored state is not proven, and a list of the newest state has to replace it. */
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

  /** A list was stored: the watch begins after it. */
  listed(): void {
    this.#from = this.#replay = undefined;
    this.#isBroken = false;
  }

  /** Events from now on are new. */
  flows(): void {
    this.#from = this.#replay = undefined;
    this.#proof?.trail.resumed();
  }

  /** Classifies an event. again: received before. last: the last of these. Throws if it is of another history. */
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

  /** A watch that began at `began` has ended. Throws if it should have delivered all replayed events. */
  ended(began: Instant, now: Instant, what: string): void {
    if (this.#replay === undefined) return;
    this.#isBroken = true;
    if (elapsed(began, now) >= longestReplay)
      throw new OtherHistoryError(`${what}: it did not say what it said before`);
  }
}

/** Undefined if the event moves no position. */
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
