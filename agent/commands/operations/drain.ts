import { nodes } from "../../api/resources.ts";
import { deadline, elapsed, type Instant, type Millis, shifted, sleep } from "../../base/clock.ts";
import { dispositionOf, type HasDisposition } from "../../base/errors.ts";
import type { JsonRecord } from "../../base/json.ts";
import { counted } from "../../base/text/counted.ts";
import { listed } from "../../base/text/listed.ts";
import { formatDuration } from "../../base/time/duration.ts";
import { ApiError, isForbidden, isNotFound, isOvertaken } from "../../client/api-error.ts";
import { type ObjectRef, refTo } from "../../execution/actions.ts";
import { type Author, type Draining, done, type Effect, refused } from "../desk/controls.ts";
import type { Cordons } from "./cordons.ts";
import { emitCommandEvent, type OperationsDeps } from "./deps.ts";
import { type DrainablePod, DrainablePods, type FoundPods } from "./drainable-pods.ts";
import { failedEffect } from "./effects.ts";

export interface DrainOptions {
  readonly timeout: Millis;
  /** Seconds that replace the pods' own grace periods; undefined if those apply. */
  readonly gracePeriod?: number;
  /** Also evicts pods without a controller. */
  readonly force: boolean;
}

export interface DrainOrder {
  readonly options: DrainOptions;
  readonly author: Author;
  readonly progress: (done: JsonRecord) => void;
  /** Called after a change that the status must show immediately. Changes of the counts alone may be shown later. */
  readonly changed: () => void;
  readonly signal: AbortSignal;
  readonly dryRun: boolean;
}

interface Tally {
  readonly evicted: number;
  /** Pods that stay. */
  readonly skipped: number;
  /** Pods that must leave and still exist; undefined before they have been listed. */
  readonly left?: number;
}

/** Why a drain ends before all pods have left. */
interface Ending {
  readonly code: number;
  readonly error: string;
  readonly message: string;
}

/** The Node must be read again before another eviction is sent. */
class NodeUnreadError extends Error implements HasDisposition {
  override readonly name = "NodeUnreadError";
  readonly disposition = "retry";
}

/**
 * Interval between rounds; each retries blocked evictions and checks which pods are gone. While pods are evicted, the
 * Node is read at the same interval.
 */
const round: Millis = 5000;
/** No eviction is sent later than this after the Node was read: the client may repeat or delay a request. */
const maxTrustDuration: Millis = 10_000;
const maxNamed = 20;
/** Maximum number of refused pods named in the status. */
const maxShown = 3;
/** Longest list of evicted pods in an answer, in characters. The log names all of them. */
const maxEvictedLength = 8192;
/** Maximum length of the reason for a refusal, in characters. A server may answer with any text. */
const maxWhyLength = 256;

const unmanaged: Ending = {
  code: 409,
  error: "unmanaged-pods",
  message: "only pods that no controller recreates are left; force deletes them too",
};
const unreadable = ({ unreadable: count, whyUnreadable }: FoundPods): Ending => ({
  code: 409,
  error: "unreadable-pods",
  message: `${counted(count, "pod")} on the board cannot be read by this agent and may have to leave: ${whyUnreadable.join("; ")}; delete or correct them with kubectl`,
});
/** Number of pods that must leave, or may have to. */
const leftOf = ({ leaving, unreadable: count }: FoundPods): number => leaving.length + count;

const uncordoned: Ending = {
  code: 409,
  error: "uncordoned",
  message: "the board was uncordoned, which ends its drain",
};
const overruled: Ending = { ...uncordoned, message: "board.uncordon ended the drain" };
const replaced: Ending = {
  code: 409,
  error: "board-replaced",
  message: "the Node was deleted, and another one was created with its name",
};
// The board stays cordoned: evicted pods must not return during maintenance.
const cancelled: Ending = { code: 499, error: "cancelled", message: "cancelled; the board stays cordoned" };
const timedOut: Ending = { code: 504, error: "timeout", message: "pods were left when the time limit passed" };

/**
 * Drains this board as `kubectl drain` does: cordons it, then evicts each pod as disruption budgets allow, until the
 * timeout or a cancellation, and only while the board stays cordoned. Daemon and static pods stay.
 */
export class BoardDrain {
  readonly #order: DrainOrder;
  readonly #deps: OperationsDeps;
  readonly #cordons: Cordons;
  readonly #board: string;
  readonly #end: Instant;
  readonly #overruled = new AbortController();
  #tally: Tally = { evicted: 0, skipped: 0 };
  /** Pods whose eviction was accepted, by uid, and that may still exist. */
  #evicting: ReadonlySet<string> = new Set();
  /** The pods, by key, that the last round did not evict. */
  readonly #refusals = new Map<string, ApiError>();
  /** The keys in `#refusals` after the last complete round. */
  #refused: readonly string[] = [];
  /** Keys of the first few pods without a controller that appeared during the drain and are evicted only by force. */
  #alone: readonly string[] = [];
  /** Keys of the first pods that had not left when they were last listed. */
  #leaving: readonly string[] = [];
  /** The pods, by uid, that were on the board when it had just been cordoned. */
  #present: ReadonlySet<string> | undefined;
  /** Number of pods that were bound to the board later, and had not left when they were last listed. */
  #late = 0;
  /** Keys of the first pods that were evicted, as many as an answer has room for. */
  readonly #evicted: string[] = [];
  #roomLeft = maxEvictedLength;
  /** The Node that this drain cordoned; undefined if not read yet. */
  #node: ObjectRef | undefined;
  /** Whether the API server has accepted the cordon, or the board was cordoned already. */
  #isCordoned = false;

  constructor(order: DrainOrder, deps: OperationsDeps, cordons: Cordons) {
    this.#order = order;
    this.#deps = deps;
    this.#cordons = cordons;
    this.#board = deps.config.board.node;
    this.#end = shifted(deps.ambient.clock.now(), order.options.timeout);
  }

  view(): Draining {
    const { evicted, left } = this.#tally;
    const refused = { some: this.#refused.slice(0, maxShown), count: this.#refused.length };
    return { board: this.#board, ...this.#order.author, until: this.#end, evicted, left, refused };
  }

  /** Ends the drain: an order to uncordon the board was accepted, and follows the drain's own cordon. */
  overrule(): void {
    this.#overruled.abort();
  }

  async run(): Promise<Effect> {
    const { options, signal } = this.#order;
    const late = (): Error => new Error(`not drained within ${formatDuration(options.timeout)}`);
    const either = AbortSignal.any([signal, this.#overruled.signal]);
    const bound = deadline(this.#deps.ambient.clock, options.timeout, either, late);
    try {
      return await this.#perform(bound.signal);
    } catch (error) {
      return bound.signal.aborted ? this.#unfinished() : this.#ended(failedEffect(error, this.#result()));
    } finally {
      bound.dispose();
    }
  }

  async #perform(signal: AbortSignal): Promise<Effect> {
    const { options, author, dryRun } = this.#order;
    const pods = new DrainablePods(this.#board, this.#deps);
    const found = await pods.look(signal);
    const { leaving, skipped } = found;
    const alone = leaving.filter(({ isAlone }) => isAlone).map(({ key }) => key);
    if (alone.length > 0 && !options.force) {
      const message = "the board has pods that no controller recreates; force deletes them too";
      return refused(409, "unmanaged-pods", message, { board: this.#board, pods: alone.slice(0, maxNamed) });
    }
    this.#tally = { evicted: 0, skipped, left: leftOf(found) };
    this.#order.changed();
    if (dryRun) return done({ ...this.#report(), pods: leaving.slice(0, maxNamed).map(({ key }) => key) });
    if (signal.aborted) return this.#unfinished();
    const cordoned = await this.#cordons.order(undefined, true, author, { dryRun, signal });
    this.#isCordoned = cordoned.outcome === "done";
    if (signal.aborted) return this.#unfinished();
    if (!this.#isCordoned) return cordoned;
    return this.#evictUntilEmpty(pods, signal);
  }

  async #evictUntilEmpty(pods: DrainablePods, signal: AbortSignal): Promise<Effect> {
    while (!signal.aborted) {
      const found = await ifReachable(() => pods.look(signal), signal);
      if (found) {
        this.#tally = { ...this.#tally, skipped: found.skipped, left: leftOf(found) };
        this.#compare(found);
        const ending = await this.#round(found, signal);
        if (ending === "drained") return this.#ended(done(this.#result()));
        if (ending) return this.#failed(ending);
        this.#noteRefused();
      }
      this.#order.progress(this.#report());
      await sleep(this.#deps.ambient.clock, round, signal);
    }
    return this.#unfinished();
  }

  #compare({ leaving }: FoundPods): void {
    this.#present ??= new Set(leaving.map(({ uid }) => uid));
    this.#leaving = leaving.slice(0, maxNamed).map(({ key }) => key);
    this.#late = leaving.filter(({ uid }) => this.#present?.has(uid) === false).length;
  }

  /**
   * Evicts the pods that are not leaving yet, as far as that is possible now. Returns why the drain has ended;
   * undefined if it has not.
   */
  async #round(found: FoundPods, signal: AbortSignal): Promise<Ending | "drained" | undefined> {
    const { leaving } = found;
    const { clock } = this.#deps.ambient;
    // Read after the pods were listed: each of them was bound before this moment, at which the board is cordoned.
    let state = await this.#cordonState(signal);
    let readAt = clock.now();
    if (typeof state === "object") return state;
    if (state === "unread") return undefined;
    if (leaving.length === 0) return found.unreadable > 0 ? unreadable(found) : "drained";
    const isLeft = (pod: DrainablePod): boolean => pod.isAlone && !pod.isTerminating && !this.#order.options.force;
    const left = leaving.filter(isLeft).map(({ key }) => key);
    this.#alone = left.slice(0, maxNamed);
    if (left.length === leaving.length) return unmanaged;
    const accepted = new Set(leaving.filter(({ uid }) => this.#evicting.has(uid)).map(({ uid }) => uid));
    this.#evicting = accepted;
    this.#refusals.clear();
    let [tried, forbidden] = [0, 0];
    for (const pod of leaving) {
      if (accepted.has(pod.uid) || pod.isTerminating || isLeft(pod)) continue;
      if (elapsed(readAt, clock.now()) >= round) {
        state = await this.#cordonState(signal);
        readAt = clock.now();
        if (typeof state === "object") return state;
        if (state === "unread") return undefined;
      }
      if (signal.aborted) return undefined;
      const answer = await this.#evict(pod, readAt, signal);
      tried++;
      if (answer instanceof ApiError) {
        this.#refusals.set(pod.key, answer);
        if (isForbidden(answer)) forbidden++;
      } else if (answer === "evicted") {
        accepted.add(pod.uid);
        this.#note(pod);
      }
    }
    // An admission webhook may refuse a single eviction. If all are forbidden, the agent is probably not permitted to
    // evict.
    const [refusal] = this.#refusals.values();
    if (refusal && forbidden === tried && this.#tally.evicted === 0) throw refusal;
    return undefined;
  }

  /**
   * Whether the board is the one that this drain cordoned, and is still cordoned. "unread": the Node cannot be read
   * now, which only delays the drain, because nothing is evicted until it can be read.
   */
  async #cordonState(signal: AbortSignal): Promise<Ending | "cordoned" | "unread"> {
    try {
      const node = await ifReachable(() => this.#deps.client.get(nodes, { name: this.#board }, signal), signal);
      if (node === undefined) return "unread";
      if (this.#node === undefined) {
        this.#node = refTo(nodes, node);
        this.#event(
          "BoardDraining",
          `Draining Node ${this.#board} within ${formatDuration(this.#order.options.timeout)}`,
        );
      }
      if (this.#node.uid !== node.metadata.uid) return replaced;
      return node.spec?.unschedulable === true ? "cordoned" : uncordoned;
    } catch (error) {
      if (isNotFound(error)) return { code: 404, error: "unknown-board", message: `there is no Node ${this.#board}` };
      throw error;
    }
  }

  async #evict(
    { namespace, name, uid }: DrainablePod,
    readAt: Instant,
    signal: AbortSignal,
  ): Promise<"evicted" | "later" | ApiError> {
    const { client, ambient } = this.#deps;
    const { gracePeriod } = this.#order.options;
    let refusal: ApiError | undefined;
    const guard = (): void => {
      if (elapsed(readAt, ambient.clock.now()) >= maxTrustDuration)
        throw new NodeUnreadError("the Node must be read again");
    };
    const refused = (error: ApiError): void => {
      refusal = error;
    };
    try {
      const options = { uid, gracePeriodSeconds: gracePeriod };
      await client.evict({ namespace, name }, options, { signal, guard, refused });
      return "evicted";
    } catch (error) {
      if (isNotFound(error) || isOvertaken(error) || isEnding(error)) return "later";
      if (!signal.aborted && error instanceof ApiError && error.status > 0) return error;
      if (refusal) this.#refusals.set(`${namespace}/${name}`, refusal);
      if (!signal.aborted && dispositionOf(error) === "retry") return "later";
      throw error;
    }
  }

  #noteRefused(): void {
    const keys = [...this.#refusals.keys()];
    if (keys.length === this.#refused.length && keys.every((key, at) => key === this.#refused[at])) return;
    this.#refused = keys;
    this.#order.changed();
  }

  #note({ key, uid }: DrainablePod): void {
    const { by, reason } = this.#order.author;
    this.#tally = { ...this.#tally, evicted: this.#tally.evicted + 1 };
    this.#roomLeft -= key.length;
    if (this.#roomLeft >= 0) this.#evicted.push(key);
    this.#deps.ambient.log.info("pod evicted by a drain", { pod: key, uid, board: this.#board, by, reason });
  }

  #report(): JsonRecord {
    const refusals = [...this.#refusals];
    const blocked = refusals.filter(([, { status }]) => status === 429).map(([key]) => key);
    const why = refusals.slice(0, maxNamed).map(([pod, refusal]) => ({ pod, why: whyOf(refusal) }));
    return {
      board: this.#board,
      ...this.#tally,
      blocked: blocked.slice(0, maxNamed),
      refused: why,
      alone: this.#alone,
      leaving: this.#leaving,
      late: this.#late,
    };
  }

  #result(): JsonRecord {
    return { ...this.#report(), pods: this.#evicted };
  }

  #unfinished(): Effect {
    if (this.#order.signal.aborted) return this.#failed(this.#isCordoned ? cancelled : this.#beforeCordon(cancelled));
    if (this.#overruled.signal.aborted) return this.#failed(overruled);
    if (!this.#isCordoned) return this.#failed(this.#beforeCordon(timedOut));
    const [first] = this.#refusals;
    if (first === undefined) return this.#failed(this.#timedOut());
    const isBlocked = [...this.#refusals.values()].some(({ status }) => status === 429);
    const error = isBlocked ? "pdb-blocked" : "eviction-refused";
    const [pod, refusal] = first;
    return this.#failed({
      code: 409,
      error,
      message: `evictions were refused until the time limit passed: ${pod}: ${whyOf(refusal)}`,
    });
  }

  #timedOut(): Ending {
    const { left = 0 } = this.#tally;
    if (left === 0) return timedOut;
    const which = listed(this.#leaving.slice(0, maxShown), left);
    const late =
      this.#late === 0
        ? ""
        : `; ${this.#late} of them ${this.#late === 1 ? "was" : "were"} bound to the board after it was cordoned, which the scheduler does not do`;
    return { ...timedOut, message: `${timedOut.message}: ${which}${late}` };
  }

  /** The ending of a drain whose cordon was not sent, or not answered. */
  #beforeCordon(ending: Ending): Ending {
    const what = ending === cancelled ? "the drain was cancelled" : "the time limit passed";
    const rest = this.#cordons.mayFollow(this.#board)
      ? "but a write to its Node got no response and may still take effect"
      : "and nothing was changed";
    return { ...ending, message: `${what} before the board was cordoned, ${rest}` };
  }

  #failed(ending: Ending): Effect {
    return this.#ended({ outcome: "failed", ...ending, result: this.#result() });
  }

  #ended(effect: Effect): Effect {
    const { evicted, left = 0 } = this.#tally;
    if (effect.outcome === "done") this.#event("BoardDrained", `Node ${this.#board} drained, ${evicted} pods evicted`);
    else this.#event("BoardNotDrained", `Node ${this.#board} not drained, ${left} pods left; drain requested`);
    return effect;
  }

  #event(reason: string, message: string): void {
    emitCommandEvent(this.#deps, this.#node, { reason, message }, this.#order.author);
  }
}

/** The namespace is being deleted, and the pod with it; evictions are no longer admitted there. */
const isEnding = (error: unknown): boolean =>
  error instanceof ApiError && error.causes.some(({ reason }) => reason === "NamespaceTerminating");

/** The API server's reason for refusing an eviction, such as the name of the disruption budget. */
const whyOf = ({ causes: [cause], message }: ApiError): string => (cause?.message || message).slice(0, maxWhyLength);

/** Returns undefined instead of failing while the link is interrupted: that only delays a drain. */
async function ifReachable<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const disposition = dispositionOf(error);
    if (!signal.aborted && (disposition === "retry" || disposition === "relist")) return undefined;
    throw error;
  }
}
