import type { KubeObject } from "../../api/meta.ts";
import type { Millis } from "../../base/clock.ts";
import { isOfLink } from "../../client/api-error.ts";
import type { WatchEvent } from "../../client/watch-stream.ts";
import type { ServerHistory } from "../server-history.ts";
import type { Resumption, Trail } from "../trail.ts";
import { StalledError } from "./stall-guard.ts";
import { OtherHistoryError } from "./watch-errors.ts";

/** The parts that prove the position at which a watch resumes. */
export interface PositionProof {
  readonly history: Pick<ServerHistory, "doubt" | "prove" | "abandoned">;
  readonly trail: Trail;
}

/** Within this time, a watch must have delivered all replayed events. */
const maxReplay: Millis = 60_000;

/**
 * Decides where a watch resumes after an interruption: at a position that the server's history is known to include.
 * From there, replayed events are first compared with those received before. Without a PositionProof, the watch resumes
 * at the stored position.
 *
 * The Reflector calls it in this order:
 *
 * 1. `prove`, before each watch. If it returns false, a list is stored, followed by `listed`.
 * 2. `whileOpen`, when the watch begins, at `from`. The returned function is called when it ends.
 * 3. `caughtUp`, once the watch is open, unless the watch must first repeat events (`isReplaying`).
 * 4. `classify`, for each event. After "replay complete", `caughtUp`.
 * 5. `ended`, when the watch ends for any reason other than the end of the run.
 * 6. `interrupted` after a normal end; `broke` after a failure, even one of a list or of step 1. Then step 1 again.
 */
export class WatchResumption {
  readonly #proof: PositionProof | undefined;
  /** True if the watch was interrupted or has not begun; the server may have a different history by now. */
  #isBroken = true;
  /** Where the next watch begins, and which events it must replay first. Empty if it begins at the stored position. */
  #start: Partial<Resumption> = {};

  constructor(proof: PositionProof | undefined) {
    this.#proof = proof;
  }

  /** The resourceVersion at which the next watch begins; undefined if it begins at the stored position. */
  get from(): string | undefined {
    return this.#start.from;
  }

  /** True while the watch delivers events that were received before. */
  get isReplaying(): boolean {
    return this.#start.replay !== undefined;
  }

  /**
   * Called when the watch has ended, even normally. Its position must be proven again, and later versions of the Lease
   * do not prove the stored state.
   */
  interrupted(position: string | undefined): void {
    this.#isBroken = true;
    this.#proof?.trail.broke(position);
  }

  /**
   * Called when the watch was interrupted by this error, such as a lost connection; `error` is undefined if the watch
   * was ended deliberately.
   */
  broke(position: string | undefined, error: unknown): void {
    this.interrupted(position);
    if (error === undefined || isOfLink(error) || error instanceof StalledError) this.#proof?.history.doubt();
  }

  /**
   * Calls `end` if requests turn out to reach a server with another history while the watch is open. Call the returned
   * function when the watch has ended.
   */
  whileOpen(what: string, end: (error: OtherHistoryError) => void): () => void {
    const abandoned = this.#proof?.history.abandoned;
    const abandon = (): void =>
      end(new OtherHistoryError(`${what}: the server has lost the history that this watch follows`));
    abandoned?.addEventListener("abort", abandon, { once: true });
    return () => abandoned?.removeEventListener("abort", abandon);
  }

  /** Returns false if the stored state cannot be proven and must be replaced with a list of the newest state. */
  async prove(position: string | undefined, signal: AbortSignal): Promise<boolean> {
    if (!this.#isBroken && this.#proof?.trail.isOfChain !== false) return true;
    this.#start = {};
    const start = await this.#provenStart(position, signal);
    this.#isBroken = false;
    if (start === undefined) return false;
    this.#start = start;
    return true;
  }

  async #provenStart(position: string | undefined, signal: AbortSignal): Promise<Partial<Resumption> | undefined> {
    if (this.#proof === undefined || position === undefined) return {};
    await this.#proof.history.prove(signal);
    return this.#proof.trail.resume(position);
  }

  /** A list was stored; the watch begins at its resourceVersion. */
  listed(): void {
    this.#start = {};
    this.#isBroken = false;
  }

  /** The replay is complete, or there was none, so all events from now on are new. */
  caughtUp(): void {
    this.#start = {};
    this.#proof?.trail.resumed();
  }

  /**
   * Classifies an event. again: it was received before. replay complete: it is the last event that was received before.
   * Throws an OtherHistoryError if the replayed events differ from those received before.
   */
  classify(event: WatchEvent<KubeObject>, what: string): "new" | "again" | "replay complete" {
    const version = versionOf(event);
    if (version === undefined) return "new";
    const { replay } = this.#start;
    if (replay === undefined) {
      if (event.type === "BOOKMARK") this.#proof?.trail.bookmarked(version);
      else this.#proof?.trail.add(version, ...stepOf(event));
      return "new";
    }
    const step = event.type === "BOOKMARK" ? replay.reached(version) : replay.add(version, ...stepOf(event));
    if (step === "differs")
      throw new OtherHistoryError(`${what}: the server sends different events than before for the same versions`);
    return step === "done" ? "replay complete" : "again";
  }

  /**
   * A watch has ended at this age. Throws an OtherHistoryError if it had time to deliver all replayed events but did
   * not.
   */
  ended(age: Millis, what: string): void {
    if (!this.isReplaying) return;
    this.#isBroken = true;
    if (age >= maxReplay)
      throw new OtherHistoryError(
        `${what}: the server did not replay all events that were received before the interruption`,
      );
  }
}

/** The position after an event; undefined if the event does not move it. */
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
